/* The widths of columns, which the handles between them change: drag one, or move to it and press the arrow keys. */

const WIDTH_STEP = 0.08;
const LEAST_WIDTH = 0.3;

class Widths {
    constructor(box) {
        this.box = box;
        this.weights = new Map();
    }

    /* Lay out these columns side by side, with a handle after each but the last. */
    show(columns) {
        this.box.querySelectorAll(".handle").forEach(handle => handle.remove());
        this.columns = columns;
        columns.slice(0, -1).forEach((column, position) => column.element.after(this._handle(position)));
        this._apply();
    }

    _weight(column) {
        return this.weights.get(column.name) ?? 1;
    }

    _handle(position) {
        const label = `Width of ${COLUMN_TITLES[this.columns[position].name]}`;
        const handle = make("div", {
            class: "handle", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": label,
            keydown: event => {
                const step = {ArrowLeft: -WIDTH_STEP, ArrowRight: WIDTH_STEP}[event.key];
                if (step) this._move(position, step);
            },
            pointerdown: event => handle.setPointerCapture(event.pointerId),
            pointermove: event => {
                if (!handle.hasPointerCapture(event.pointerId)) return;
                const sum = this.columns.reduce((total, column) => total + this._weight(column), 0);
                this._move(position, (event.movementX / this.box.clientWidth) * sum);
            },
            dblclick: () => {
                this.weights.clear();
                this._apply();
            },
        });
        return handle;
    }

    /* Give a column some of the width of the next one. */
    _move(position, by) {
        const [left, right] = [this.columns[position], this.columns[position + 1]];
        const step = Math.max(LEAST_WIDTH - this._weight(left), Math.min(by, this._weight(right) - LEAST_WIDTH));
        this.weights.set(left.name, this._weight(left) + step);
        this.weights.set(right.name, this._weight(right) - step);
        this._apply();
    }

    _apply() {
        const sum = this.columns.reduce((total, column) => total + this._weight(column), 0);
        this.box.style.gridTemplateColumns = this.columns.map(column => `minmax(200px, ${this._weight(column)}fr)`).join(" 8px ");
        this.box.querySelectorAll(".handle").forEach((handle, position) => {
            handle.setAttribute("aria-valuenow", String(Math.round((this._weight(this.columns[position]) / sum) * 100)));
        });
    }
}

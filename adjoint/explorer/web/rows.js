/* A list of rows of one height, of which only those in view are in the document. */

const ROW_HEIGHT = 20;
const BEYOND_VIEW = 4;

class Rows {
    /* box       the element that scrolls
       draw      (position, most) -> the element of a row, with `made`: how many elements it has inside, of which `most` may be for colours
       decorate  (element, position): set the classes and attributes that change without the row being drawn again */
    constructor(box, draw, decorate) {
        Object.assign(this, {box, draw, decorate, amount: 0, most: 500, drawn: new Map(), frame: 0});
        this.extent = document.createElement("div");
        this.extent.className = "extent";
        this.extent.setAttribute("role", "presentation");
        box.append(this.extent);
        box.addEventListener("scroll", () => this.later(), {passive: true});
        new ResizeObserver(() => this.later()).observe(box);
    }

    /* Show other rows: `width` is the longest one's, in characters. */
    set(amount, width) {
        this.amount = amount;
        this.extent.style.height = `${amount * ROW_HEIGHT}px`;
        this.extent.style.width = width ? `max(100%, ${width}ch)` : "100%";
        this.redraw();
    }

    redraw() {
        for (const element of this.drawn.values()) element.remove();
        this.drawn.clear();
        this.update();
    }

    later() {
        this.frame ||= requestAnimationFrame(() => {
            this.frame = 0;
            this.update();
        });
    }

    /* Bring the rows in view into the document, and take the others out of it. */
    update() {
        const {scrollTop, clientHeight} = this.box;
        const first = clientHeight ? Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - BEYOND_VIEW) : 0;
        const end = clientHeight ? Math.min(this.amount, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + BEYOND_VIEW) : 0;
        let spare = this.most;
        for (const [position, element] of this.drawn) {
            if (position >= first && position < end) {
                spare -= element.made;
            } else {
                element.remove();
                this.drawn.delete(position);
            }
        }
        const fragment = document.createDocumentFragment();
        for (let position = first; position < end; position += 1) {
            if (this.drawn.has(position)) continue;
            const waiting = end - position - 1;
            const element = this.draw(position, Math.max(0, Math.min(spare, Math.max(6, spare - 6 * waiting))));
            spare -= element.made;
            element.style.top = `${position * ROW_HEIGHT}px`;
            element.position = position;
            this.decorate(element, position);
            this.drawn.set(position, element);
            fragment.append(element);
        }
        this.extent.append(fragment);
    }

    redecorate() {
        for (const [position, element] of this.drawn) this.decorate(element, position);
    }

    get inView() {
        const {scrollTop, clientHeight} = this.box;
        return [Math.ceil(scrollTop / ROW_HEIGHT), Math.floor((scrollTop + clientHeight) / ROW_HEIGHT) - 1];
    }

    get inOneView() {
        return Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 1);
    }

    /* How many rows each key moves by. */
    get steps() {
        return {ArrowUp: -1, ArrowDown: 1, PageUp: -this.inOneView, PageDown: this.inOneView, Home: -Infinity, End: Infinity};
    }

    /* Scroll so that a row is in view: at the nearest edge, or a third from the top where it is far away. */
    show(position) {
        const [first, last] = this.inView;
        if (position >= first && position <= last) return;
        const near = position >= first - 3 && position <= last + 3;
        const above = near && position < first ? 1 : near ? this.inOneView - 1 : Math.floor(this.inOneView / 3);
        this.box.scrollTop = Math.max(0, (position - above) * ROW_HEIGHT);
        this.update();
    }

    /* Scroll so that one of these rows is well in view, if none is: the row `wanted`, a third from the top. */
    showOneOf(positions, wanted) {
        const [first, last] = this.inView;
        if (!positions.length || positions.some(position => position >= first && position <= last - 3)) return;
        this.box.scrollTop = Math.max(0, (wanted - Math.floor(this.inOneView / 3)) * ROW_HEIGHT);
        this.update();
    }

    /* Return the row that an event is on, or -1. */
    at(event) {
        return event.target.closest?.(".row")?.position ?? -1;
    }
}

/* The strip at the right edge of a column: where in all its rows the marked ones, hooks, changes and hits are. */

class Ruler {
    constructor(body, show) {
        this.canvas = document.createElement("canvas");
        this.canvas.className = "ruler";
        this.canvas.setAttribute("aria-hidden", "true");
        this.canvas.addEventListener("click", event => show(event.offsetY / this.canvas.clientHeight));
        body.append(this.canvas);
        this.layers = [];
        new ResizeObserver(() => this.draw()).observe(this.canvas);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    }

    /* layers  [[name of a colour, rows], ...], the later ones over the earlier ones */
    set(amount, layers) {
        this.amount = amount;
        this.layers = layers;
        this.frame ||= requestAnimationFrame(() => {
            this.frame = 0;
            this.draw();
        });
    }

    draw() {
        const {canvas} = this;
        const {clientWidth: width, clientHeight: height} = canvas;
        if (!width || !height) return;
        canvas.width = width;
        canvas.height = height;
        const context = canvas.getContext("2d");
        const style = getComputedStyle(canvas);
        // A short file is not stretched over the whole height: its rows stand beside their marks.
        const row = Math.min(ROW_HEIGHT, height / Math.max(1, this.amount));
        for (const [colour, rows] of this.layers) {
            context.fillStyle = style.getPropertyValue(`--${colour}`);
            for (const position of rows) context.fillRect(1, Math.floor(position * row), width - 2, Math.max(2, row - 1));
        }
    }
}

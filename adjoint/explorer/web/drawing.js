/* A drawing of the folded tree: a box for each call of a Cell in which nothing is unfolded, and arrows for the values that go from one to
   another. What an unfolded Cell computes itself, outside of those in it, has boxes too. */

const MOST_BOXES = 500;
const BOX_HEIGHT = 38;

class Drawing {
    constructor(explorer) {
        Object.assign(this, {explorer, scale: 1, boxes: []});
        this.body = make("div", {class: "paper-sheet", tabindex: "-1"});
        this.note = make("span", {class: "size"});
        this.element = make(
            "section", {class: "column drawing", "aria-label": "Drawing of the Cells"},
            make(
                "header", {}, make("h2", {}, "Drawing"), this.note,
                make("button", {type: "button", "aria-label": "Smaller", click: () => this._zoom(1 / 1.25)}, "−"),
                make("button", {type: "button", "aria-label": "Larger", click: () => this._zoom(1.25)}, "+"),
                make("button", {type: "button", click: () => this._fit()}, "Fit"),
            ),
            this.body,
        );
        this.body.addEventListener("click", event => {
            const box = event.target.closest("[data-box]");
            if (box) explorer.keep({kind: "cell", cell: Number(box.dataset.box)}, null);
        });
        this.body.addEventListener("dblclick", event => {
            const box = event.target.closest("[data-box]");
            if (box) explorer.tree.toggle(Number(box.dataset.box), true);
        });
        this.body.addEventListener("keydown", event => this._key(event));
    }

    /* Draw what the tree shows. */
    draw() {
        const {rows} = this.explorer.tree.sheet;
        let calls = this._calls(rows);
        for (let depth = Math.max(0, ...rows.map(row => row.depth)); calls.boxes.length > MOST_BOXES && depth > 1;) {
            depth -= 1;
            calls = this._calls(rows.filter(row => row.depth <= depth));
        }
        const whole = calls.shown === rows.length && calls.boxes.length <= MOST_BOXES;
        this.boxes = calls.boxes.slice(0, MOST_BOXES);
        const graph = new dagre.graphlib.Graph();
        const ranker = this.boxes.length > 150 ? "longest-path" : "network-simplex"; // the latter takes seconds for hundreds of boxes
        graph.setGraph({rankdir: "TB", nodesep: 18, ranksep: 26, marginx: 16, marginy: 16, ranker});
        graph.setDefaultEdgeLabel(() => ({}));
        const labels = this.boxes.map(cell => this._label(cell, calls.unfolded.has(cell)));
        labels.forEach(({width}, box) => graph.setNode(String(box), {width, height: BOX_HEIGHT}));
        for (const [from, to] of calls.edges) if (to < this.boxes.length) graph.setEdge(String(from), String(to)); // from is before to
        try {
            dagre.layout(graph);
        } catch (error) {
            if (!(error instanceof RangeError)) throw error; // its recursion is deeper than the stack
            this.note.textContent = "too large to draw: fold some Cells";
            this.body.replaceChildren();
            return;
        }
        const amount = plural(this.boxes.length, "box", "boxes");
        this.note.textContent = whole ? amount : `${amount}, not all of the Cells: fold some`;
        this._put(graph, labels);
        this.mark(this.explorer.kept);
    }

    /* Return the calls of the Cells in these rows: the Cell of each box, in the order in which they run, and [from, to] for boxes of which
       the latter uses a value of the former. They are read from the last graph, in which Cells are inlined, by the names of values. */
    _calls(rows) {
        const {program} = this.explorer;
        const shown = new Set(rows.map(({cell}) => cell));
        const shownAs = [];
        program.cells.forEach(({parent}, cell) => { shownAs[cell] = shown.has(cell) ? cell : parent >= 0 ? shownAs[parent] : -1; });
        const stage = program.stages.findLast(({column, kind, name}) => column === "ir" && kind === "ir" && name !== "fused");
        const boxes = [];
        const edges = new Map();
        let owners = new Map();
        for (const line of stage?.lines ?? []) {
            const tokens = program.tokens(line);
            if (tokens[0]?.[1].startsWith("func")) owners = new Map();
            if (line.cell === undefined || shownAs[line.cell] < 0) continue;
            if (boxes[boxes.length - 1] !== shownAs[line.cell]) boxes.push(shownAs[line.cell]);
            const box = boxes.length - 1;
            const equals = tokens.findIndex(([, text]) => text.trim() === "=");
            tokens.forEach(([kind, text], position) => {
                if (kind !== "value") return;
                if (position < equals) owners.set(text, box);
                else if (owners.has(text) && owners.get(text) !== box) edges.set(`${owners.get(text)} ${box}`, [owners.get(text), box]);
            });
        }
        const unfolded = new Set(rows.map(({cell}) => program.cells[cell].parent));
        return {boxes, edges: [...edges.values()], shown: shown.size, unfolded};
    }

    /* Return the two lines of a box and how wide it is. */
    _label(cell, unfolded) {
        const {path, type, nodes, seconds: time} = this.explorer.program.cells[cell];
        const name = path || "the whole";
        const about = unfolded ? [type, "itself"] : [type, plural(nodes ?? 0, "node"), typeof time === "number" ? seconds(time) : ""];
        const lines = [name.length > 34 ? `…${name.slice(-33)}` : name, about.filter(Boolean).join(" · ").slice(0, 60)];
        return {lines, width: 22 + Math.max(lines[0].length * 7.2, lines[1].length * 6.1)};
    }

    _put(graph, labels) {
        const svg = (tag, attributes, ...children) => {
            const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
            for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
            element.append(...children);
            return element;
        };
        const {width = 10, height = 10} = graph.graph();
        const paths = graph.edges().map(edge => arrow(graph.edge(edge).points));
        const boxes = this.boxes.map((cell, position) => {
            const {x, y, width: wide, height: high} = graph.node(String(position));
            const [name, more] = labels[position].lines;
            return svg(
                "g", {"data-box": cell, class: "box", role: "button", tabindex: position ? "-1" : "0", "aria-label": `${name}, ${more}`,
                    transform: `translate(${x - wide / 2} ${y - high / 2})`},
                svg("rect", {width: wide, height: high, rx: 6}),
                svg("text", {x: wide / 2, y: 16}, name, svg("tspan", {x: wide / 2, dy: 14}, more)),
            );
        });
        this.size = [width, height];
        this.svg = svg("svg", {viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Cells and the values between them"},
            svg("path", {class: "arrows", d: paths.join("")}), ...boxes);
        this.body.replaceChildren(this.svg);
        this._zoom(1);
    }

    _zoom(by) {
        if (!this.svg) return;
        this.scale = Math.max(0.1, Math.min(4, this.scale * by));
        this.svg.setAttribute("width", this.size[0] * this.scale);
        this.svg.setAttribute("height", this.size[1] * this.scale);
    }

    _fit() {
        if (!this.size) return;
        this.scale = Math.min(1.5, this.body.clientWidth / this.size[0], this.body.clientHeight / this.size[1]);
        this._zoom(1);
    }

    mark(reference) {
        const cell = reference?.kind === "cell" ? reference.cell : -1;
        for (const box of this.svg?.querySelectorAll(".box") ?? []) {
            const kept = Number(box.dataset.box) === cell;
            box.classList.toggle("kept", kept);
        }
        const [first] = this.svg?.querySelectorAll(".box.kept") ?? [];
        if (first) this._toView(first);
    }

    _toView(box) {
        const [inside, around] = [box.getBoundingClientRect(), this.body.getBoundingClientRect()];
        if (inside.bottom > around.bottom || inside.top < around.top) this.body.scrollTop += inside.top - around.top - around.height / 2;
        if (inside.right > around.right || inside.left < around.left) this.body.scrollLeft += inside.left - around.left - around.width / 2;
    }

    _key(event) {
        const box = event.target.closest("[data-box]");
        if (!box || event.altKey || event.ctrlKey || event.metaKey) return;
        const all = [...this.svg.querySelectorAll(".box")];
        const steps = {ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -all.length, End: all.length};
        if (event.key in steps) {
            const next = all[Math.max(0, Math.min(all.length - 1, all.indexOf(box) + steps[event.key]))];
            for (const each of all) each.setAttribute("tabindex", each === next ? "0" : "-1");
            next.focus();
        } else if (event.key === "Enter" || event.key === " ") {
            this.explorer.keep({kind: "cell", cell: Number(box.dataset.box)}, null);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

/* Return the path of an arrow through these points. */
function arrow(points) {
    const at = ({x, y}) => `${Math.round(x)} ${Math.round(y)}`;
    const end = points[points.length - 1];
    const before = points[points.length - 2] ?? end;
    const angle = Math.atan2(end.y - before.y, end.x - before.x);
    const wing = turn => at({x: end.x - 7 * Math.cos(angle + turn), y: end.y - 7 * Math.sin(angle + turn)});
    return `M${points.map(at).join("L")}M${wing(0.45)}L${at(end)}L${wing(-0.45)}`;
}

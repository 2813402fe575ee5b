/* A drawing of the folded tree: a box for each Cell in which nothing is unfolded, arrows for the values that go from one to another. */

const MOST_BOXES = 500;
const BOX_HEIGHT = 38;

class Drawing {
    constructor(explorer) {
        Object.assign(this, {explorer, scale: 1, boxes: [], flows: null});
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
            if (box) explorer.tree._toggle(Number(box.dataset.box), true);
        });
        this.body.addEventListener("keydown", event => this._key(event));
    }

    /* Draw what the tree shows. */
    draw() {
        const {program, tree} = this.explorer;
        const shown = this._shown(tree.sheet.rows);
        const boxOf = this._boxes(shown);
        const edges = this._edges(boxOf);
        // A Cell that is unfolded has a box of its own only if values come from it or go to it.
        const used = new Set([...edges.values()].flat());
        this.boxes = [...shown].filter(cell => used.has(cell) || !this._open(cell, shown));
        const graph = new dagre.graphlib.Graph();
        graph.setGraph({rankdir: "TB", nodesep: 18, ranksep: 26, marginx: 16, marginy: 16, ranker: this.boxes.length > 150 ? "longest-path" : "network-simplex"});
        graph.setDefaultEdgeLabel(() => ({}));
        const labels = new Map(this.boxes.map(cell => [cell, this._label(cell)]));
        for (const cell of this.boxes) graph.setNode(String(cell), {width: labels.get(cell).width, height: BOX_HEIGHT});
        for (const [from, to] of edges.values()) graph.setEdge(String(from), String(to));
        try {
            dagre.layout(graph);
        } catch (error) {
            if (!(error instanceof RangeError)) throw error;
            this.note.textContent = "too large to draw: fold some Cells";
            this.body.replaceChildren();
            return;
        }
        const left = tree.sheet.rows.length > shown.size;
        this.note.textContent = left ? `the first ${plural(this.boxes.length, "box", "boxes")}: fold some Cells to see the rest` : plural(this.boxes.length, "box", "boxes");
        this._put(graph, labels);
        this.mark(this.explorer.kept);
    }

    /* Return the Cells that the tree shows, without the deepest ones where there are too many, and without the last ones of those left. */
    _shown(rows) {
        let depth = Infinity;
        let chosen = rows;
        while (chosen.length > MOST_BOXES && depth > 1) {
            depth = Math.min(depth, Math.max(...chosen.map(row => row.depth))) - 1;
            chosen = rows.filter(row => row.depth <= depth);
        }
        return new Set(chosen.slice(0, MOST_BOXES).map(({cell}) => cell));
    }

    _open(cell, shown) {
        return this.explorer.program.children(cell).some(child => shown.has(child));
    }

    /* Return for each Cell the box that it is in: its own, or that of the next one around it that is shown. */
    _boxes(shown) {
        const {cells} = this.explorer.program;
        const boxOf = [];
        cells.forEach(({parent}, position) => { boxOf[position] = shown.has(position) ? position : parent >= 0 ? boxOf[parent] : -1; });
        return boxOf;
    }

    /* Return which box's values another one uses, or for a program whose values do not tell, which Cell is inside of which. */
    _edges(boxOf) {
        const edges = new Map();
        this.flows ??= this._flows();
        for (const [from, to] of this.flows) {
            const [one, other] = [boxOf[from], boxOf[to]];
            if (one !== other && one >= 0 && other >= 0) edges.set(`${one} ${other}`, [one, other]);
        }
        if (!edges.size) {
            this.explorer.program.cells.forEach(({parent}, cell) => {
                if (parent >= 0 && boxOf[cell] === cell) edges.set(`${parent} ${cell}`, [parent, cell]);
            });
        }
        return edges;
    }

    /* Return [from, to] for each value that one Cell computes and another uses, by the names in the last graph: there Cells are inlined. */
    _flows() {
        const {program} = this.explorer;
        const stage = program.stages.findLast(({column, kind, name}) => column === "ir" && kind === "ir" && name !== "fused");
        const flows = new Map();
        let owners = new Map();
        for (const line of stage?.lines ?? []) {
            const tokens = program.tokens(line);
            if (tokens[0]?.[1].startsWith("func")) owners = new Map();
            const equals = tokens.findIndex(([, text]) => text.trim() === "=");
            tokens.forEach(([kind, text], position) => {
                if (kind !== "value" || line.cell === undefined) return;
                if (position < equals) owners.set(text, line.cell);
                else if (owners.has(text) && owners.get(text) !== line.cell) flows.set(`${owners.get(text)} ${line.cell}`, [owners.get(text), line.cell]);
            });
        }
        return [...flows.values()];
    }

    _label(cell) {
        const {path, type, nodes, seconds: time} = this.explorer.program.cells[cell];
        const short = text => (text.length > 34 ? `…${text.slice(-33)}` : text);
        const lines = [short(path || "the whole"), short([type, plural(nodes ?? 0, "node"), typeof time === "number" ? seconds(time) : ""].filter(Boolean).join(" · "))];
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
            const {x, y, width: wide, height: high} = graph.node(String(cell));
            const [name, more] = labels.get(cell).lines;
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
            if (kept) this._toView(box);
        }
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

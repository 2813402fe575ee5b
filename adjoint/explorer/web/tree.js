/* The tree of Cells, with what each holds. It does what a column does: rows, keyboard, search. */

/* The times of a Cell that a run has: of its own nodes, and of those of their gradients. */
const CELL_TIMES = [{title: "Forward", key: "seconds"}, {title: "Backward", key: "backward"}];

class Tree {
    constructor(explorer) {
        Object.assign(this, {explorer, name: "cells", cursor: -1, hits: new Set(), kept: -1});
        const {program} = explorer;
        this.times = CELL_TIMES.filter(({key}) => program.cells.some(cell => typeof cell[key] === "number"));
        const inner = program.cells.filter(({parent}) => parent >= 0);
        this.slowest = Math.max(1e-12, ...inner.flatMap(cell => this.times.map(({key}) => cell[key] ?? 0)));
        this.unfolded = new Set(program.cells.flatMap(({parent}, position) => (parent < 0 ? [position] : [])));
        this.body = make("div", {class: "body", role: "tree", tabindex: "0", id: "cells-tree", "aria-label": "Cells"});
        this.size = make("span", {class: "size"}, plural(program.cells.length, "Cell"));
        const heads = ["Cell", "Nodes", "Parameters", "Bytes", ...this.times.map(({title}) => title)];
        this.element = make(
            "section", {class: "column tree", "aria-label": "Tree of Cells"},
            make(
                "header", {}, make("h2", {}, "Cells"), this.size,
                make("button", {type: "button", click: () => this.foldAll()}, "Fold all"),
                make("button", {type: "button", click: () => this.unfoldAll()}, "Unfold all"),
            ),
            make("div", {class: "heads", "aria-hidden": "true"}, ...heads.map(head => make("span", {}, head))),
            make("div", {class: "frame"}, this.body),
        );
        this.rows = new Rows(this.body, this._draw.bind(this), this._decorate.bind(this));
        this.body.addEventListener("click", event => this._clicked(event));
        this.body.addEventListener("dblclick", event => {
            const row = this.sheet.rows[this.rows.at(event)];
            if (row) this.toggle(row.cell);
        });
        this.body.addEventListener("keydown", event => this._key(event));
        this.body.addEventListener("focus", () => this.body.matches(":focus-visible") && this.moveTo(Math.max(0, this.cursor)));
        this._fill();
    }

    /* The rows in view, as a column has them; a search looks at all Cells, so a hit may be inside of a folded one. */
    _fill() {
        const {program} = this.explorer;
        const rows = [];
        const visit = (cell, depth) => {
            rows.push({cell, depth});
            if (this.unfolded.has(cell)) program.children(cell).forEach(child => visit(child, depth + 1));
        };
        program.children(-1).forEach(cell => visit(cell, 0));
        this.sheet = {rows, text: ({cell}) => `${program.cells[cell].path} ${program.cells[cell].type}`};
        this.rows.set(rows.length, 0);
    }

    _draw(position) {
        const {program} = this.explorer;
        const {cell, depth} = this.sheet.rows[position];
        const {path, type, nodes, parameters, bytes: size} = program.cells[cell];
        const times = this.times.map(({title, key}) => ({title, time: program.cells[cell][key]}));
        const inside = program.children(cell).length;
        const name = make("span", {class: "cell-name"});
        name.style.paddingLeft = `${depth * 14}px`;
        name.append(make("i", {class: "fold", "aria-hidden": "true"}, inside ? (this.unfolded.has(cell) ? "▾" : "▸") : ""));
        name.append(make("b", {}, path.split(".").pop() || "the whole"), ` ${type}`);
        const sizes = [count(nodes ?? 0), parameters ? count(parameters) : "", size ? bytes(size) : ""];
        const cells = [name, ...sizes.map(text => make("span", {}, text))];
        for (const {time} of times) {
            const share = make("span", {class: "time"}, typeof time === "number" ? seconds(time) : "");
            share.style.setProperty("--share", `${Math.min(100, ((time ?? 0) / this.slowest) * 100)}%`);
            cells.push(share);
        }
        const element = make("div", {
            role: "treeitem", id: `cells-${position}`, "aria-level": String(depth + 1),
            "aria-expanded": inside ? String(this.unfolded.has(cell)) : undefined,
            "aria-label": [path || "the whole", type, plural(nodes ?? 0, "node"), parameters && plural(parameters, "parameter"),
                ...times.map(({title, time}) => time && `${title.toLowerCase()} ${seconds(time)}`)].filter(Boolean).join(", "),
        }, ...cells);
        element.made = 2 + cells.length;
        return element;
    }

    _decorate(element, position) {
        const names = ["row"];
        const {cell} = this.sheet.rows[position];
        if (cell === this.kept) names.push("kept", "own");
        if (position === this.cursor) names.push("cursor");
        if (this.hits.has(position)) names.push("hit");
        element.className = names.join(" ");
        element.setAttribute("aria-selected", String(cell === this.kept));
    }

    /* Show which Cell is kept, unfolding those around it. */
    mark(reference) {
        this.kept = reference?.kind === "cell" ? reference.cell : -1;
        if (this.kept >= 0 && !this.sheet.rows.some(({cell}) => cell === this.kept)) {
            const {cells} = this.explorer.program;
            for (let around = cells[this.kept].parent; around >= 0; around = cells[around].parent) this.unfolded.add(around);
            this._changed();
        }
        const position = this.sheet.rows.findIndex(({cell}) => cell === this.kept);
        if (position >= 0) this.rows.show(position);
        this.rows.redecorate();
    }

    setHits(hits) {
        this.hits = hits;
        this.rows.redecorate();
    }

    moveTo(position) {
        if (!this.sheet.rows.length) return;
        this.cursor = Math.max(0, Math.min(this.sheet.rows.length - 1, position));
        this.rows.show(this.cursor);
        this.body.setAttribute("aria-activedescendant", `cells-${this.cursor}`);
        this.explorer.touch({kind: "cell", cell: this.sheet.rows[this.cursor].cell}, "keys", null);
        this.rows.redecorate();
    }

    foldAll() {
        this.unfolded = new Set(this.explorer.program.children(-1));
        this._changed();
    }

    unfoldAll() {
        this.unfolded = new Set(this.explorer.program.cells.keys());
        this._changed();
    }

    /* Fold or unfold a Cell. */
    toggle(cell, unfold = !this.unfolded.has(cell)) {
        if (!this.explorer.program.children(cell).length) return;
        if (unfold) this.unfolded.add(cell);
        else this.unfolded.delete(cell);
        this._changed();
    }

    _changed() {
        const at = this.sheet.rows[this.cursor]?.cell;
        this._fill();
        this.cursor = this.sheet.rows.findIndex(({cell}) => cell === at);
        this.rows.redecorate();
        this.explorer.cellsChanged();
    }

    _clicked(event) {
        const position = this.rows.at(event);
        if (position < 0) return;
        this.cursor = position;
        const {cell} = this.sheet.rows[position];
        if (event.target.closest(".fold")) this.toggle(cell);
        else this.explorer.keep({kind: "cell", cell}, null);
    }

    _key(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const at = Math.max(0, this.cursor);
        const {cell} = this.sheet.rows[at] ?? {};
        if (cell === undefined) return;
        const {steps} = this.rows;
        if (event.key in steps) {
            this.moveTo(at + steps[event.key]);
        } else if (event.key === "ArrowRight") {
            if (this.unfolded.has(cell) && this.explorer.program.children(cell).length) this.moveTo(at + 1);
            else this.toggle(cell, true);
        } else if (event.key === "ArrowLeft") {
            const around = this.explorer.program.cells[cell].parent;
            if (this.unfolded.has(cell) && this.explorer.program.children(cell).length) this.toggle(cell, false);
            else if (around >= 0) this.moveTo(this.sheet.rows.findIndex(row => row.cell === around));
        } else if (event.key === "Enter" || event.key === " ") {
            this.explorer.keep({kind: "cell", cell}, null);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

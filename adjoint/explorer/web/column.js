/* A column: its head, its rows, and what the mouse and the keyboard do in it. */

const COLUMN_TITLES = {python: "Python", ir: "IR", adjoint: "Adjoint", c: "C"};

class Column {
    constructor(explorer, name) {
        Object.assign(this, {explorer, name, sheet: null, cursor: -1, hits: new Set()});
        this._unmark();
        const asked = name === "python" ? "File" : `Stage in ${COLUMN_TITLES[name]}`;
        this.choice = make("select", {id: `${name}-choice`, "aria-label": asked, change: () => this._chosen()});
        this.size = make("span", {class: "size"});
        this.body = make("div", {
            class: "body", id: `${name}-lines`, role: "listbox", tabindex: "0", "aria-label": `${COLUMN_TITLES[name]}, lines`,
        });
        const frame = make("div", {class: "frame"}, this.body);
        this.element = make(
            "section", {class: `column of-${name}`, "aria-label": COLUMN_TITLES[name]},
            make("header", {}, make("h2", {}, COLUMN_TITLES[name]), this.choice, this.size), frame,
        );
        this.rows = new Rows(this.body, this._draw.bind(this), this._decorate.bind(this));
        this.ruler = new Ruler(frame, share => this.rows.show(Math.floor(share * this.body.clientHeight / this._rulerRow())));
        this.body.addEventListener("mouseover", event => this._over(event));
        this.body.addEventListener("mouseleave", () => explorer.touch(null, "mouse", this));
        this.body.addEventListener("click", event => this._clicked(event));
        this.body.addEventListener("keydown", event => this._key(event));
        this.body.addEventListener("focus", () => this._focused());
        if (name === "python") this.body.addEventListener("scroll", () => this._fileInView(), {passive: true});
    }

    _rulerRow() {
        return Math.min(ROW_HEIGHT, this.body.clientHeight / Math.max(1, this.sheet.rows.length));
    }

    setSheet(sheet) {
        const former = this.sheet;
        this.sheet = sheet;
        this.cursor = -1;
        this.hits = new Set();
        this._unmark();
        this.body.removeAttribute("aria-activedescendant");
        if (former && former !== sheet) this.body.scrollLeft = 0;
        this.rows.set(sheet.rows.length, sheet.width + 8);
        this._fillChoice();
    }

    _unmark() {
        this.kept = this.touched = {rows: [], first: -1};
        this.keptRows = this.touchedRows = new Set();
        this.own = -1;
    }

    _fillChoice() {
        const items = this.name === "python"
            ? this.sheet.headings.map(({path, row}) => [String(row), this.explorer.program.shortPath(path)])
            : this.explorer.program.stagesOf(this.name).map(stage => [String(stage.position), stage.title]);
        this.choice.replaceChildren(...items.map(([value, text]) => make("option", {value}, text)));
        if (this.name !== "python") this.choice.value = String(this.sheet.stage.position);
        this.choice.hidden = items.length < 1;
        const highest = this.sheet.rows.reduce((most, {number: line}) => Math.max(most, Number(line) || 0), 99);
        this.body.style.setProperty("--digits", String(String(highest).length));
        this.size.textContent = this.name === "python" ? "" : plural(this.sheet.rows.length, "line");
    }

    /* Begin where the program does: at the function in Python, and behind the parameters in a graph. */
    toBegin() {
        const {program} = this.explorer;
        const [stage] = program.stagesOf("ir");
        const begins = stage?.lines.find(({at}) => at !== undefined);
        const row = this.name !== "python" ? this.sheet.rows.findIndex(({line}) => line.at !== undefined)
            : begins ? this.sheet.related({kind: "stage", stage, line: stage.lines.indexOf(begins)}).first : -1;
        if (row > 3) this.body.scrollTop = (row - 2) * ROW_HEIGHT;
    }

    _chosen() {
        const value = Number(this.choice.value);
        if (this.name === "python") this.rows.box.scrollTop = value * ROW_HEIGHT;
        else this.explorer.setStage(this.explorer.program.stages[value]);
    }

    _fileInView() {
        const row = Math.floor(this.body.scrollTop / ROW_HEIGHT);
        const heading = this.sheet.headings.findLast(item => item.row <= row);
        if (heading) this.choice.value = String(heading.row);
    }

    _draw(position, most) {
        const row = this.sheet.rows[position];
        const code = make("span", {class: "code"});
        const element = make("div", {role: "option", id: `${this.name}-${position}`, "data-number": row.number ?? ""}, code);
        if (row.hook) element.setAttribute("aria-description", "a hook stands here");
        const hits = this.hits.has(position) ? occurrences(this.sheet.text(row), this.explorer.wanted) : [];
        element.made = 1 + appendTokens(code, this.sheet.tokens(row), most, hits);
        return element;
    }

    _decorate(element, position) {
        const row = this.sheet.rows[position];
        const names = ["row"];
        if (row.heading !== undefined) names.push("heading");
        if (row.hook) names.push("hook");
        if (row.change) names.push(row.change);
        if (this.keptRows.has(position)) names.push("kept");
        if (this.touchedRows.has(position)) names.push("touched");
        if (position === this.own) names.push("own");
        if (position === this.cursor) names.push("cursor");
        const className = names.join(" ");
        if (element.className !== className) element.className = className;
        element.setAttribute("aria-selected", String(position === this.own));
        const beside = this.sheet.beside(position, this.explorer.beside, this.explorer.measured);
        const text = [{added: "new", removed: "gone"}[row.change], beside?.text].filter(Boolean).join(" · ");
        if (text) element.dataset.beside = text;
        else delete element.dataset.beside;
        element.classList.toggle("alarm", Boolean(beside?.alarm));
        element.classList.toggle("measured", this.explorer.beside === "time" || this.explorer.beside === "values");
        if (beside?.share !== undefined) element.style.setProperty("--share", `${Math.min(100, beside.share * 100)}%`);
        else element.style.removeProperty("--share");
    }

    /* Mark the rows that belong to the kept and to the touched reference. Return how many belong to the one that leads. */
    mark(kept, touched) {
        const none = {rows: [], first: -1};
        this.kept = kept ? this.sheet.related(kept) : none;
        this.touched = touched ? this.sheet.related(touched) : none;
        this.own = kept ? this.sheet.rowOf(kept) : -1;
        this.keptRows = new Set(this.kept.rows);
        this.touchedRows = new Set(this.touched.rows);
        this.rows.redecorate();
        this._rule();
        return (touched ? this.touched : this.kept).rows.length;
    }

    _rule() {
        const having = test => this.sheet.rows.flatMap((row, position) => (test(row) ? [position] : []));
        if (this._ruled !== this.sheet) {
            this._ruled = this.sheet;
            this._fixed = [["removed", having(row => row.change === "removed")], ["added", having(row => row.change === "added")],
                ["hook", having(row => row.hook)]];
        }
        this.ruler.set(this.sheet.rows.length, [
            ...this._fixed, ["hit", this.hits], ["touched-mark", this.touched.rows], ["kept-mark", this.kept.rows],
        ]);
    }

    /* Scroll a row that belongs to the touched or kept reference into view. */
    follow() {
        const {rows, first} = this.touched.rows.length ? this.touched : this.kept;
        this.rows.showOneOf(rows, first);
    }

    setHits(hits) {
        const changed = hits.size || this.hits.size;
        this.hits = hits;
        if (changed) this.rows.redraw();
        this._rule();
    }

    /* Move the keyboard's place to a row, show it, and touch its line. */
    moveTo(position, by = "keys") {
        if (!this.sheet.rows.length) return;
        this.cursor = Math.max(0, Math.min(this.sheet.rows.length - 1, position));
        this.rows.show(this.cursor);
        this.body.setAttribute("aria-activedescendant", `${this.name}-${this.cursor}`);
        this.explorer.touch(this.sheet.reference(this.cursor), by, this);
        this.rows.redecorate();
    }

    _focused() {
        if (!this.body.matches(":focus-visible")) return;
        const [first, last] = this.rows.inView;
        if (this.cursor >= 0) return this.moveTo(this.cursor);
        const marked = this.kept.rows.find(row => row >= first && row <= last);
        this.moveTo(this.own >= 0 ? this.own : marked ?? first);
    }

    _over(event) {
        const position = this.rows.at(event);
        if (position >= 0) this.explorer.touch(this.sheet.reference(position), "mouse", this);
    }

    _clicked(event) {
        const position = this.rows.at(event);
        if (position < 0 || String(getSelection())) return;
        this.cursor = position;
        this.body.setAttribute("aria-activedescendant", `${this.name}-${position}`);
        this.explorer.keep(this.sheet.reference(position), this);
    }

    _key(event) {
        if (event.altKey || event.ctrlKey || event.metaKey) return;
        const at = this.cursor >= 0 ? this.cursor : this.rows.inView[0];
        const {steps} = this.rows;
        if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
            this.body.scrollLeft += event.key === "ArrowLeft" ? -80 : 80;
        } else if (event.key in steps) {
            this.moveTo(at + steps[event.key]);
        } else if (event.key === "Enter" || event.key === " ") {
            this.explorer.keep(this.sheet.reference(at), this);
        } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
            this.explorer.crossFrom(this, event.key === "ArrowLeft" ? -1 : 1);
        } else if (event.key === "n" || event.key === "p") {
            const rows = this.kept.rows;
            const [first, last] = [rows[0], rows[rows.length - 1]];
            const next = event.key === "n" ? rows.find(row => row > at) ?? first : rows.findLast(row => row < at) ?? last;
            if (next !== undefined) this.moveTo(next);
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }
}

/* The page: what is shown, what is touched and kept, and what follows from it. */

const COLUMNS = ["python", "ir", "adjoint", "c"];
const MOST_COLOURS = 1900;

class Explorer {
    constructor(program) {
        Object.assign(this, {program, kept: null, touched: null, wanted: "", view: "lines", difference: false, stage: null});
        this.measured = measuredOf(program);
        this.positions = new Map();
        for (const column of ["ir", "adjoint", "c"]) {
            const stages = program.stagesOf(column);
            if (stages.length) this.positions.set(column, stages.find(({name}) => name === column) ?? stages[0]);
        }
        this.python = new PythonSheet(program);
        const there = COLUMNS.filter(name => (name === "python" ? program.files.length : this.positions.has(name)));
        this.columns = new Map(there.map(name => [name, new Column(this, name)]));
        this.shown = new Set(innerWidth < 1100 ? there.slice(0, 3) : there);
        byId("title").textContent = byId("title").title = program.title;
        byId("arguments").textContent = program.arguments;
        byId("lines-view").append(...[...this.columns.values()].map(column => column.element));
        this._fillNotes();
        this._fillColumns();
        this._fillBeside();
        this._fillHooks();
        this.widths = new Widths(byId("lines-view"));
        this.search = new Search(this);
        this.details = new Details(this, byId("details"));
        this.stages = new Stages(this);
        for (const column of this.columns.values()) this._fill(column);
        this.stage = program.stages[0] ?? null;
        this._showColumns();
        this._showStages();
        byId("view-lines").addEventListener("click", () => this.setView("lines"));
        byId("view-cells").addEventListener("click", () => this.setView("cells"));
        byId("view-cells").disabled = !program.cells.length;
        byId("help").addEventListener("click", () => byId("keys").showModal());
        addEventListener("keydown", event => this._key(event));
        addEventListener("hashchange", () => this._toAddress());
        this._mark();
        for (const column of this.columns.values()) column.toBegin();
        this._toAddress();
    }

    get shownColumns() {
        return [...this.columns.values()].filter(({name}) => this.shown.has(name));
    }

    get searched() {
        return this.view === "lines" ? this.shownColumns : [this.tree];
    }

    // -- what is shown ------------------------------------------------------------------------------------------------
    _fillNotes() {
        byId("notes").hidden = !this.program.notes.length;
        byId("notes").append(...this.program.notes.map(note => make("li", {}, note)));
    }

    _fillColumns() {
        byId("columns").append(...[...this.columns.keys()].map((name, position) => make("button", {
            type: "button", "aria-pressed": "true", title: `Show or hide (${position + 1})`, "data-column": name, class: `of-${name}`,
            click: () => this.toggleColumn(name),
        }, COLUMN_TITLES[name])));
    }

    _fillBeside() {
        const lines = this.program.stages.flatMap(stage => stage.lines);
        const there = {
            types: true, time: lines.some(({runs}) => runs), values: lines.some(({seen}) => seen),
            numbers: lines.some(({numbers}) => numbers), nothing: true,
        };
        const choice = byId("beside");
        choice.append(...Object.keys(there).filter(mode => there[mode]).map(mode => make("option", {value: mode}, mode)));
        // Of a run that is small enough for its numbers to be read, these; else its time.
        const small = lines.filter(line => line.numbers).length > lines.filter(({seen}) => seen).length / 2;
        this.beside = there.numbers && small ? "numbers" : there.time ? "time" : "types";
        choice.value = this.beside;
        choice.addEventListener("change", () => {
            this.beside = choice.value;
            for (const column of this.columns.values()) column.rows.redecorate();
        });
    }

    _fillHooks() {
        const column = [...this.columns.values()].find(({name}) => name !== "python");
        const hooked = this.program.stages.find(stage => stage.lines.some(({hook}) => hook));
        const button = byId("hooks");
        if (!column || !hooked) return;
        button.hidden = false;
        button.textContent = `◆ ${plural(hooked.lines.filter(({hook}) => hook).length, "hook")}`;
        button.title = "To the next hook (h)";
        button.addEventListener("click", () => this.nextHook());
    }

    _fill(column) {
        const stage = this.positions.get(column.name);
        column.setSheet(stage ? new StageSheet(this.program, stage, this.difference) : this.python);
    }

    setStage(stage) {
        this.stage = stage;
        const column = this.columns.get(stage.column);
        if (this.positions.get(stage.column) !== stage) {
            this.positions.set(stage.column, stage);
            const top = column.body.scrollTop;
            this._fill(column);
            column.body.scrollTop = top;
        }
        if (!this.shown.has(stage.column)) this.toggleColumn(stage.column);
        this._changed();
        const {own, kept, rows, sheet} = column;
        if (own >= 0 || kept.rows.length) rows.showOneOf(own >= 0 ? [own] : kept.rows, own >= 0 ? own : kept.first);
        else if (this.difference && stage.changes) rows.showOneOf(changedRows(sheet), changedRows(sheet)[0]);
    }

    setDifference(wanted) {
        this.difference = wanted;
        byId("difference").checked = wanted;
        for (const column of this.columns.values()) {
            if (column.name === "python") continue;
            this._fill(column);
        }
        this._changed();
        const column = this.columns.get(this.stage?.column);
        if (wanted && column && !this.kept) column.rows.showOneOf(changedRows(column.sheet), changedRows(column.sheet)[0]);
    }

    _changed() {
        this._showStages();
        this._mark();
        if (this.wanted) this.search.again();
    }

    _showStages() {
        const shown = new Set([...this.positions].filter(([name]) => this.shown.has(name)).map(([, stage]) => stage));
        this.stages.show(this.stage, shown);
    }

    toggleColumn(name) {
        if (!this.columns.has(name) || (this.shown.has(name) && this.shown.size === 1)) return;
        if (!this.shown.delete(name)) this.shown.add(name);
        this._showColumns();
        this._changed();
        say(`${COLUMN_TITLES[name]} ${this.shown.has(name) ? "shown" : "hidden"}`);
    }

    _showColumns() {
        for (const [name, column] of this.columns) {
            column.element.hidden = !this.shown.has(name);
            column.rows.most = Math.floor(MOST_COLOURS / this.shown.size);
            column.rows.redraw();
        }
        this.widths.show(this.shownColumns);
        for (const button of byId("columns").children) button.setAttribute("aria-pressed", String(this.shown.has(button.dataset.column)));
    }

    setView(view) {
        if (view === this.view || byId("view-cells").disabled) return;
        this.view = view;
        for (const id of ["lines-view", "stages", "columns", "beside-label"]) byId(id).hidden = view !== "lines";
        byId("cells-view").hidden = view !== "cells";
        for (const each of ["lines", "cells"]) byId(`view-${each}`).setAttribute("aria-pressed", String(each === view));
        if (view === "cells" && !this.tree) {
            this.tree = new Tree(this);
            this.drawing = new Drawing(this);
            byId("cells-view").append(this.tree.element, this.drawing.element);
            this.tree.mark(this.kept);
            this.drawing.draw();
        } else if (view === "cells") {
            this.tree.mark(this.kept);
            this.drawing.draw();
        } else {
            this.drawing?.body.replaceChildren();
        }
        for (const column of this.columns.values()) column.rows.redraw();
        this.tree?.rows.redraw();
        this.touched = null;
        this._mark();
        if (view === "lines") this.shownColumns.forEach(column => column.follow());
        if (this.wanted) this.search.again();
    }

    /* Draw the Cells again, after some were folded or unfolded. */
    cellsChanged() {
        if (this.view !== "cells") return;
        this.drawing?.draw();
        if (this.wanted) this.search.again();
    }

    // -- what is touched and kept -------------------------------------------------------------------------------------
    /* Mark what belongs to a line. `by`: "mouse", or "keys", which also scrolls the other columns while a line is kept. */
    touch(reference, by, column) {
        if (same(reference, this.touched)) return;
        this.touched = reference;
        const amounts = this._mark();
        if (!reference || (by === "mouse" && this.kept)) return;
        for (const other of this.shownColumns) if (other !== column) other.follow();
        if (by === "keys" && column) {
            const others = amounts.filter(([name]) => name !== column.name);
            say(others.map(([name, amount]) => `${plural(amount, "line")} in ${COLUMN_TITLES[name]}`).join(", "));
        }
    }

    /* Keep a line, or let it go if it is kept already; the address holds it. */
    keep(reference, column) {
        if (!reference) return;
        if (same(reference, this.kept)) return this.letGo();
        this._keep(reference, column);
        location.hash = encodeURI(addressOf(this.program, reference));
    }

    letGo() {
        if (!this.kept) return;
        this._keep(null, null);
        history.pushState(null, "", location.pathname + location.search);
    }

    _keep(reference, column) {
        this.kept = reference;
        this.touched = null;
        if (reference?.kind === "stage" && ![...this.positions.values()].includes(reference.stage) && !this._isShownAsRemoved(reference)) {
            this.setStage(reference.stage);
        }
        this._mark();
        this.tree?.mark(reference);
        this.drawing?.mark(reference);
        for (const other of this.shownColumns) {
            if (other === column) continue;
            if (other.own >= 0) other.rows.show(other.own);
            else other.follow();
        }
        if (reference) say(`kept ${addressOf(this.program, reference)}`);
    }

    _isShownAsRemoved(reference) {
        return [...this.columns.values()].some(({sheet}) => sheet.rowOf(reference) >= 0);
    }

    _toAddress() {
        let address = location.hash.slice(1);
        try {
            address = decodeURIComponent(address);
        } catch {
            // A `%` that begins no code stands for itself.
        }
        const reference = address ? referenceAt(this.program, address) : null;
        if (same(reference, this.kept)) return;
        this._keep(reference, null);
        if (reference?.kind === "cell") this.setView("cells");
    }

    _mark() {
        const amounts = this.shownColumns.map(column => [column.name, column.mark(this.kept, this.touched)]);
        for (const [name, column] of this.columns) if (!this.shown.has(name)) column.mark(null, null);
        clearTimeout(this.detailing);
        this.detailing = setTimeout(() => this.details.show(this.touched ?? this.kept), 30);
        return amounts;
    }

    // -- moving -------------------------------------------------------------------------------------------------------
    /* Go to the row of the next column that belongs to where the keyboard is. */
    crossFrom(column, step) {
        const columns = this.shownColumns;
        const next = columns[columns.indexOf(column) + step];
        if (!next) return;
        const {rows} = next.touched.rows.length ? next.touched : next.kept;
        const [first, last] = next.rows.inView;
        const target = rows.find(row => row >= first && row <= last) ?? rows[0] ?? first;
        next.cursor = target;
        next.body.focus({preventScroll: true});
        next.moveTo(target);
    }

    /* Go to the next of these rows of a column. */
    stepIn(column, rows, first) {
        const next = rows.includes(column.cursor) ? rows.find(row => row > column.cursor) ?? rows[0] : first;
        if (this.view !== "lines") this.setView("lines");
        column.cursor = next;
        column.rows.show(next);
        column.body.focus({preventScroll: true});
        column.rows.redecorate();
    }

    nextHook() {
        const columns = this.shownColumns.filter(column => column.sheet.rows.some(({hook}) => hook));
        const here = columns.find(({body}) => body === document.activeElement);
        const column = here ?? columns.find(({name}) => name === "adjoint") ?? columns[0];
        if (!column) return say("no hook in the columns that are shown");
        const hooks = column.sheet.rows.flatMap(({hook}, position) => (hook ? [position] : []));
        const next = hooks.find(row => row > column.cursor) ?? hooks[0];
        column.cursor = next;
        column.body.focus({preventScroll: true});
        column.moveTo(next);
        return undefined;
    }

    _key(event) {
        if (event.altKey || event.ctrlKey || event.metaKey || byId("keys").open) return;
        const typing = event.target.matches?.("input:not([type=checkbox]):not([type=range]), select, textarea");
        if (event.key === "Escape") {
            if (typing) event.target.blur();
            this.letGo();
            return;
        }
        if (typing) return;
        const actions = {
            "/": () => { byId("search").focus(); byId("search").select(); },
            "?": () => byId("keys").showModal(),
            "[": () => this.stages.step(-1),
            "]": () => this.stages.step(1),
            d: () => this.setDifference(!this.difference),
            h: () => this.nextHook(),
            v: () => this.setView(this.view === "lines" ? "cells" : "lines"),
        };
        [...this.columns.keys()].forEach((name, position) => { actions[String(position + 1)] = () => this.toggleColumn(name); });
        if (!(event.key in actions)) return;
        event.preventDefault();
        actions[event.key]();
    }
}

function changedRows(sheet) {
    return sheet.rows.flatMap(({change}, position) => (change ? [position] : []));
}

const explorer = new Explorer(new Program(JSON.parse(byId("program").textContent)));

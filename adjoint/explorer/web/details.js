/* The strip below the columns: all that is known of the touched or kept line. */

class Details {
    constructor(explorer, element) {
        Object.assign(this, {explorer, element, shown: undefined});
    }

    show(reference) {
        if (same(reference, this.shown ?? null) && this.shown !== undefined) return;
        this.shown = reference;
        this.element.replaceChildren(...(reference ? this._of(reference) : this._summary()));
        this.element.scrollTop = 0;
    }

    _of(reference) {
        const {program} = this.explorer;
        if (reference.kind === "cell") return this._ofCell(reference.cell);
        const line = lineOf(reference);
        const {python} = this.explorer;
        const text = line ? program.text(line) : python.text(python.rows[python.rowOf(reference)] ?? {tokens: []});
        const facts = [];
        if (line?.value) facts.push(["Value", `${line.value}: ${line.type ?? ""}`]);
        if (line?.hook) facts.push(["Hook", "a hook stands here"]);
        if (line?.cell !== undefined && program.cells[line.cell]) facts.push(["Cell", this._cellLink(line.cell)]);
        if (line) facts.push(["From", this._places(line.at)]);
        else facts.push(["Here", this._types(reference)]);
        if (line?.runs) facts.push(["Run", runsText(line.runs)]);
        if (line?.seen) facts.push(["Values", values(line.seen)]);
        if (line?.numbers) facts.push(["Numbers", make("code", {}, line.numbers)]);
        if (line?.gradient) facts.push(["Gradient", make("code", {}, line.gradient)]);
        return [
            make("p", {class: "chosen"}, make("b", {}, addressOf(program, reference)), " ", make("code", {}, text.trim().slice(0, 400))),
            factList([...facts, ["Lines", this._counts(reference)]].filter(([, fact]) => fact)),
        ];
    }

    _ofCell(position) {
        const {program} = this.explorer;
        const cell = program.cells[position];
        const facts = [
            ["Nodes", count(cell.nodes ?? 0)],
            ["Parameters", cell.parameters ? `${count(cell.parameters)} (${bytes(cell.bytes)})` : "none"],
            ...CELL_TIMES.map(({title, key}) => [title, typeof cell[key] === "number" ? seconds(cell[key]) : ""]), ["From", this._places(cell.location)],
            ["Lines", this._counts({kind: "cell", cell: position})],
        ];
        return [
            make("p", {class: "chosen"}, make("b", {}, cell.path || "the whole"), " ", make("code", {}, cell.type)),
            factList(facts.filter(([, fact]) => fact)),
        ];
    }

    /* Return what to read while no line is touched: the slowest launches of a run, or how to begin. */
    _summary() {
        const {program, measured} = this.explorer;
        const lines = measured.stage ? [...measured.stage.lines.keys()].filter(line => measured.stage.lines[line].runs) : [];
        if (!lines.length) {
            return [make("p", {class: "hint"}, "Touch a line: what it came from, and what became of it, is marked in the other columns. "
                + "A click keeps it. Press ? for all keys.")];
        }
        const time = line => measured.stage.lines[line].runs.seconds;
        const slowest = lines.sort((one, other) => time(other) - time(one)).slice(0, 5);
        return [
            make("p", {class: "hint"}, `${plural(lines.length, "launch", "launches")} took ${seconds(measured.total)}. The slowest:`),
            make("ul", {class: "slowest"}, ...slowest.map(line => {
                const {runs} = measured.stage.lines[line];
                const text = program.text(measured.stage.lines[line]).trim().replace(/\s{2,}.*/, "");
                const speed = [percent(time(line) / measured.total), seconds(runs.seconds), rate(runs)].filter(Boolean).join(" · ");
                return make(
                    "li", {}, make("span", {}, speed),
                    this._link(text.slice(0, 120), {kind: "stage", stage: measured.stage, line}),
                );
            })),
        ];
    }

    _places(at) {
        const {program} = this.explorer;
        const chain = program.chain(at);
        if (!chain.length) return null;
        const list = make("span", {class: "chain"});
        chain.slice(0, 8).forEach(({path, line, column}, depth) => {
            if (depth) list.append(" ← called at ");
            const place = `${program.shortPath(path)}:${line}${column > 0 && !depth ? `:${column}` : ""}`;
            list.append(this._link(place, {kind: "python", path, line}));
        });
        if (chain.length > 8) list.append(` ← ${chain.length - 8} more calls`);
        return list;
    }

    /* Return the values that a line of Python computes, with their types. */
    _types(reference) {
        const {program} = this.explorer;
        const stage = program.stages.find(({column}) => column === "ir");
        const lines = stage ? linesOfStage(program, stage, reference).map(line => stage.lines[line]).filter(({value}) => value) : [];
        if (!lines.length) return null;
        const first = lines.slice(0, 12).map(({value, type}) => `${value}: ${type ?? "?"}`).join(",  ");
        return lines.length > 12 ? `${first} and ${lines.length - 12} more` : first;
    }

    _counts(reference) {
        const list = make("span", {class: "chain"});
        this.explorer.shownColumns.forEach((column, position) => {
            const {rows, first} = column.sheet.related(reference);
            if (position) list.append("  ");
            const text = `${count(rows.length)} in ${COLUMN_TITLES[column.name]}`;
            const step = () => this.explorer.stepIn(column, rows, first);
            list.append(rows.length ? make("button", {type: "button", class: "link", click: step}, text) : text);
        });
        return list;
    }

    _cellLink(cell) {
        const {path, type} = this.explorer.program.cells[cell];
        return this._link(path ? `${path} (${type})` : type, {kind: "cell", cell});
    }

    _link(text, reference) {
        return make("button", {type: "button", class: "link", click: () => this.explorer.keep(reference, null)}, text);
    }
}

function factList(facts) {
    return make("dl", {}, ...facts.map(([name, fact]) => make("div", {}, make("dt", {}, name), make("dd", {}, fact))));
}

function runsText(runs) {
    const parts = [seconds(runs.seconds)];
    if (runs.calls > 1) parts.push(`${count(runs.calls)} calls`);
    if (runs.bytes) parts.push(bytes(runs.bytes));
    if (rate(runs)) parts.push(rate(runs));
    return parts.join(" · ");
}

/* What a column shows: rows with their tokens, and which of them belong to a reference. */

class PythonSheet {
    constructor(program) {
        this.program = program;
        this.rows = [];
        this.headings = [];
        this._rowOf = new Map();
        const files = [...program.files].sort((one, other) => Boolean(other.user) - Boolean(one.user));
        for (const {path, first, lines} of files) {
            this.headings.push({path, row: this.rows.length});
            const name = program.shortPath(path);
            this.rows.push({heading: path, tokens: [["", name === path ? path : `${name}   ${path}`]]});
            pythonTokens(lines).forEach((tokens, offset) => {
                this._rowOf.set(`${path}:${first + offset}`, this.rows.length);
                this.rows.push({tokens, number: first + offset, path});
            });
        }
        this._markHooks();
        this.width = Math.max(0, ...this.rows.map(row => this.text(row).length));
        this._besides = new Map();
    }

    /* Mark the lines where hooks stand in the first stage that has any: in later ones they stand at the values that they are for. */
    _markHooks() {
        const stage = this.program.stages.find(({lines}) => lines.some(({hook}) => hook));
        for (const line of stage?.lines ?? []) {
            const place = line.hook && this.program.chain(line.at).find(({user}) => user);
            const row = place && this.rows[this._rowOf.get(`${place.path}:${place.line}`)];
            if (row) row.hook = true;
        }
    }

    tokens(row) {
        return row.tokens;
    }

    text(row) {
        return row.tokens.map(([, text]) => text).join("");
    }

    reference(position) {
        const {path, number} = this.rows[position];
        return path === undefined ? null : {kind: "python", path, line: number};
    }

    rowOf(reference) {
        return reference.kind === "python" ? this._rowOf.get(`${reference.path}:${reference.line}`) ?? -1 : -1;
    }

    /* Return the rows that belong to a reference, in order, and the one to show first, or -1. */
    related(reference) {
        const places = [...placesOf(this.program, reference)].map(([place, rank]) => [this._rowOf.get(place), rank]);
        const found = places.filter(([row]) => row !== undefined);
        const best = found.reduce((one, other) => (other[1] < one[1] ? other : one), [-1, Infinity]);
        return {rows: sorted(found.map(([row]) => row)), first: best[0]};
    }

    beside(position, mode, measured) {
        const row = this.rows[position];
        if (row.path === undefined) return null;
        const key = `${mode} ${position}`;
        if (!this._besides.has(key)) this._besides.set(key, this._beside(`${row.path}:${row.number}`, mode, measured));
        return this._besides.get(key);
    }

    /* Return what stands beside a line: of the widest expression on it, and the time of all kernels that came from it. */
    _beside(place, mode, measured) {
        if (mode === "time") {
            if (!measured.stage) return null;
            const lines = this.program.index(measured.stage).places.get(place) ?? [];
            const time = lines.reduce((sum, line) => sum + (measured.stage.lines[line].runs?.seconds ?? 0), 0);
            return time ? {text: seconds(time), share: time / measured.total} : null;
        }
        let widest = null;
        for (const stage of this.program.stages.filter(({column}) => column === "ir")) {
            for (const position of this.program.index(stage).places.get(place) ?? []) {
                const line = stage.lines[position];
                const [{path, line: number, column, end}] = this.program.chain(line.at);
                if (`${path}:${number}` !== place || !line.type || !besideText(line, mode)) continue;
                if (!widest || column < widest.column || (column === widest.column && end > widest.end)) widest = {line, column, end};
            }
            if (widest) return {text: besideText(widest.line, mode)};
        }
        return null;
    }
}

/* Return what stands beside a line in words: its type, its values, or the numbers themselves. */
function besideText(line, mode) {
    if (mode === "types") return line.type ?? "";
    if (mode === "numbers" && (line.numbers || line.gradient)) {
        return [line.numbers, line.gradient && `gradient ${line.gradient}`].filter(Boolean).join("   ");
    }
    return (mode === "numbers" || mode === "values") && line.seen ? values(line.seen) : "";
}

class StageSheet {
    constructor(program, stage, difference) {
        Object.assign(this, {program, stage});
        const former = difference && stage.changes ? program.stage(stage.changes.from) : null;
        const added = new Set(stage.changes?.added);
        const removed = new Set(stage.changes?.removed.map(([line]) => line));
        this.rows = [];
        this._rowOf = new Map();
        this._removedAt = new Map();
        this.former = former;
        let before = 0;
        const takeRemoved = () => {
            for (; former && before < former.lines.length && removed.has(before); before += 1) {
                this._removedAt.set(before, this.rows.length);
                this.rows.push(this._row(former, before, "removed"));
            }
        };
        stage.lines.forEach((line, position) => {
            takeRemoved();
            if (!added.has(position)) before += 1;
            this._rowOf.set(position, this.rows.length);
            this.rows.push(this._row(stage, position, former && added.has(position) ? "added" : ""));
        });
        takeRemoved();
        this.width = Math.max(0, ...this.rows.map(row => this.text(row).length));
    }

    _row(stage, position, change) {
        const line = stage.lines[position];
        return {line, stage, position, change, number: change === "removed" ? "−" : position + 1, hook: line.hook};
    }

    tokens({line, stage}) {
        const tokens = this.program.tokens(line);
        return stage.kind === "c" ? tokens : withDefinitions(tokens);
    }

    text(row) {
        return this.program.text(row.line);
    }

    reference(position) {
        const row = this.rows[position];
        return {kind: "stage", stage: row.stage, line: row.position};
    }

    rowOf(reference) {
        if (reference.kind !== "stage") return -1;
        if (reference.stage === this.stage) return this._rowOf.get(reference.line) ?? -1;
        return reference.stage === this.former ? this._removedAt.get(reference.line) ?? -1 : -1;
    }

    related(reference) {
        const rows = linesOfStage(this.program, this.stage, reference).map(line => this._rowOf.get(line));
        if (this._removedAt.size) {
            for (const line of linesOfStage(this.program, this.former, reference)) {
                if (this._removedAt.has(line)) rows.push(this._removedAt.get(line));
            }
        }
        const found = sorted(rows);
        return {rows: found, first: found[0] ?? -1};
    }

    beside(position, mode, measured) {
        const {line, stage, change} = this.rows[position];
        if (change === "removed") return null;
        if (mode !== "time") {
            const text = mode === "types" ? "" : besideText(line, mode);
            return text ? {text, alarm: Boolean(line.seen?.not_finite)} : null;
        }
        if (line.runs) {
            const speed = stage.column === "c" ? rate(line.runs) : "";
            return {text: [seconds(line.runs.seconds), speed].filter(Boolean).join(" · "), share: line.runs.seconds / measured.most};
        }
        // In a stage that ran, a line without a time is a view, or inside of a fused kernel. One of another stage has the time of its launches.
        if (!measured.stage || measured.timed.has(stage) || stage.column === "c" || this.program.tokens(line).some(isCell)) return null;
        const {ids} = this.program.index(measured.stage);
        const lines = this.program.ids(line).flatMap(id => ids.get(id) ?? []).map(position => measured.stage.lines[position]);
        const launched = [...new Set(lines.filter(({runs, backward}) => runs && backward === line.backward))];
        if (!launched.length) return null;
        const time = launched.reduce((sum, {runs}) => sum + runs.seconds, 0);
        const whole = launched.every(each => this.program.ids(each).length === 1);
        return {text: whole ? seconds(time) : `in ${seconds(time)}`, share: time / measured.most};
    }
}

/* True for the word that begins a Cell, whose line stands for what it returns, not for all that it computes. */
function isCell([kind, text]) {
    return kind === "keyword" && text.trim() === "cell";
}

/* Return where kernels were measured: all stages with times; one of them, and there the time of all, and of the slowest. That one is the plan,
   or the graph that runs if that has more launches: a plan of a graph as parsed has none of the gradients that the graph takes. */
function measuredOf(program) {
    const launches = stage => stage.lines.filter(line => line.runs).length;
    const withTime = program.stages.filter(launches);
    const graph = withTime.findLast(({column}) => column === "ir") ?? withTime[0] ?? null;
    const plan = withTime.findLast(({kind}) => kind === "plan");
    const stage = plan && launches(plan) >= launches(graph) ? plan : graph;
    const times = stage ? stage.lines.map(line => line.runs?.seconds ?? 0) : [];
    return {stage, timed: new Set(withTime), total: times.reduce((sum, time) => sum + time, 0) || 1, most: Math.max(...times, 1e-12)};
}

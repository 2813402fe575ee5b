/* Which lines belong together.

   A reference names a line or a cell: {kind: "python", path, line}, {kind: "stage", stage, line} with the stage itself and the line from 0,
   or {kind: "cell", cell}. Two lines of stages belong together if they share the identity of a node; a line of Python and one of a stage if
   the source location of the latter, or a call that led to it, is on that line. A line without identity, such as the head of a function,
   belongs to those at the same location. */

function same(one, other) {
    return one === other || (one !== null && other !== null && one.kind === other.kind && one.path === other.path && one.line === other.line
        && one.stage === other.stage && one.cell === other.cell);
}

/* Return the address of a reference: `net.py:17`, `parsed:3`, `cell:layers.0`. */
function addressOf(program, reference) {
    if (reference.kind === "python") return `${program.shortPath(reference.path)}:${reference.line}`;
    if (reference.kind === "stage") return `${reference.stage.name}:${reference.line + 1}`;
    return `cell:${program.cells[reference.cell].path}`;
}

/* Return the reference with this address, or null. */
function referenceAt(program, address) {
    const colon = address.lastIndexOf(":");
    if (colon < 0) return null;
    const [name, line] = [address.slice(0, colon), Number(address.slice(colon + 1))];
    const file = program.files.find(({path, first, lines}) => (path === name || program.shortPath(path) === name)
        && line >= first && line < first + lines.length);
    if (file) return {kind: "python", path: file.path, line};
    const stage = program.stage(name);
    if (stage && line >= 1 && line <= stage.lines.length) return {kind: "stage", stage, line: line - 1};
    const cell = address.startsWith("cell:") ? program.cells.findIndex(({path}) => path === address.slice("cell:".length)) : -1;
    return cell >= 0 ? {kind: "cell", cell} : null;
}

/* Return the line of a stage that a reference names, or undefined. */
function lineOf(reference) {
    return reference?.kind === "stage" ? reference.stage.lines[reference.line] : undefined;
}

/* Return the lines of a stage that belong to a reference, from 0 and in order. */
function linesOfStage(program, stage, reference) {
    const index = program.index(stage);
    if (reference.kind === "python") return index.places.get(`${reference.path}:${reference.line}`) ?? [];
    if (reference.kind === "cell") return sorted(program.family(reference.cell).flatMap(cell => index.cells.get(cell) ?? []));
    const line = lineOf(reference);
    const lines = program.ids(line).length ? program.ids(line).flatMap(id => index.ids.get(id) ?? []) : index.locations.get(line.at) ?? [];
    return sorted(stage === reference.stage ? [...lines, reference.line] : lines);
}

/* Return the places of the source that belong to a reference: Map from `net.py:17` to its rank, 0 for the one to be shown first. */
function placesOf(program, reference) {
    const places = new Map();
    if (reference.kind === "python") {
        places.set(`${reference.path}:${reference.line}`, 0);
    } else if (reference.kind === "cell") {
        const stage = program.stages.find(({column}) => column === "ir");
        const own = program.chain(program.cells[reference.cell].location)[0];
        if (own) places.set(`${own.path}:${own.line}`, 0);
        for (const line of stage ? linesOfStage(program, stage, reference) : []) {
            const first = program.chain(stage.lines[line].at)[0];
            if (first && !places.has(`${first.path}:${first.line}`)) places.set(`${first.path}:${first.line}`, 1 + !first.user);
        }
    } else {
        program.placesOfLine(lineOf(reference)).forEach(({path, line, user}, depth) => {
            const place = `${path}:${line}`;
            if (!places.has(place)) places.set(place, user ? depth : 1000 + depth);
        });
    }
    return places;
}

function sorted(numbers) {
    return [...new Set(numbers)].sort((one, other) => one - other);
}

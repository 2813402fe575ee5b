/* The program that the page shows, with its indices. */

class Program {
    constructor(data) {
        Object.assign(this, {
            title: data.title, arguments: data.arguments, version: data.version, notes: data.notes ?? [], files: data.files ?? [],
            cells: data.cells ?? [], locations: data.locations ?? [], stages: data.stages ?? [], places: data.places ?? [],
            texts: data.texts ?? [], sharedTokens: data.tokens ?? [], sharedIds: data.ids ?? [],
        });
        this.stages.forEach((stage, position) => { stage.position = position; });
        this._shortPaths = new Map();
        this._texts = new Map();
        this._chains = new Map();
        this._indices = new Map();
        this._families = null;
    }

    /* Return the tokens of a line of a stage: [kind, text] each. What many lines share, the data has once. */
    tokens(line) {
        const text = typeof line.text === "number" ? this.texts[line.text] : line.text;
        return text.map(token => (typeof token === "number" ? this.sharedTokens[token] : token));
    }

    text(line) {
        let text = this._texts.get(line);
        if (text === undefined) {
            text = this.tokens(line).map(([, part]) => part).join("");
            this._texts.set(line, text);
        }
        return text;
    }

    /* Return the identities of the nodes that a line stands for. */
    ids(line) {
        return typeof line.id === "number" ? this.sharedIds[line.id] : line.id ?? [];
    }

    /* Return all places from which a line came, its own first: those of its location, and of each node that it stands for. */
    placesOfLine(line) {
        const ids = this.ids(line);
        const others = ids.length > 1 ? ids.map(id => this.places[id]) : [];
        return [...new Set([line.at, ...others])].flatMap(at => this.chain(at));
    }

    stage(name) {
        return this.stages.find(stage => stage.name === name);
    }

    stagesOf(column) {
        return this.stages.filter(stage => stage.column === column);
    }

    /* Return the end of a file's path that no other file has: `net.py`. */
    shortPath(path) {
        let short = this._shortPaths.get(path);
        if (!short) {
            const parts = path.split("/");
            const others = this.files.map(file => file.path).filter(other => other !== path);
            for (let from = parts.length - 1; from >= 0 && !short; from -= 1) {
                const end = parts.slice(from).join("/");
                if (from === 0 || !others.some(other => `/${other}`.endsWith(`/${end}`))) short = end;
            }
            this._shortPaths.set(path, short);
        }
        return short;
    }

    /* Return the places of a location, from the innermost to the call that led there: [{path, line, column, end, user}]. */
    chain(at) {
        if (at === undefined || at < 0) return [];
        let chain = this._chains.get(at);
        if (!chain) {
            chain = [];
            for (let next = at, steps = 0; next >= 0 && next < this.locations.length && steps < 1000; steps += 1) {
                const [file, line, column, end, parent] = this.locations[next];
                const {path, user} = this.files[file] ?? {path: "?", user: false};
                chain.push({path, user, line, column, end});
                next = parent;
            }
            this._chains.set(at, chain);
        }
        return chain;
    }

    /* Return where the lines of a stage stand that have an identity, a place of the source, or a location. */
    index(stage) {
        let index = this._indices.get(stage);
        if (!index) {
            index = {ids: new Map(), places: new Map(), locations: new Map(), cells: new Map()};
            stage.lines.forEach((line, position) => {
                for (const id of this.ids(line)) append(index.ids, id, position);
                for (const {path, line: number} of this.placesOfLine(line)) append(index.places, `${path}:${number}`, position);
                if (line.at !== undefined) append(index.locations, line.at, position);
                if (line.cell !== undefined) append(index.cells, line.cell, position);
            });
            this._indices.set(stage, index);
        }
        return index;
    }

    /* Return the positions of the cells directly inside of each cell; those inside of none are at -1. */
    children(cell) {
        if (!this._families) {
            this._families = new Map();
            this.cells.forEach(({parent}, position) => append(this._families, parent, position));
        }
        return this._families.get(cell) ?? [];
    }

    /* Return a cell and all inside of it. */
    family(cell) {
        const family = [cell];
        for (const member of family) family.push(...this.children(member));
        return family;
    }
}

function append(map, key, item) {
    const items = map.get(key);
    if (!items) map.set(key, [item]);
    else if (items[items.length - 1] !== item) items.push(item);
}

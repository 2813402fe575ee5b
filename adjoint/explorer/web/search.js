/* Search in the rows of all columns that are shown, or in the tree of Cells. */

class Search {
    constructor(explorer) {
        Object.assign(this, {explorer, wanted: "", hits: [], at: -1});
        this.input = byId("search");
        this.input.addEventListener("input", () => this._later());
        this.input.addEventListener("keydown", event => {
            if (event.key === "Enter") {
                event.preventDefault();
                this._now();
                this.go(event.shiftKey ? -1 : 1);
            } else if (event.key === "Escape" && this.input.value) {
                event.stopPropagation();
                this.input.value = "";
                this._now();
            }
        });
        byId("found-before").addEventListener("click", () => this.go(-1));
        byId("found-next").addEventListener("click", () => this.go(1));
    }

    _later() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this._now(), 120);
    }

    _now() {
        clearTimeout(this.timer);
        if (this.input.value.toLowerCase() !== this.wanted) this.find(this.input.value.toLowerCase());
    }

    /* Search again, after other rows came into view. */
    again() {
        this.find(this.wanted);
    }

    find(wanted) {
        this.wanted = this.explorer.wanted = wanted;
        this.hits = [];
        this.at = -1;
        for (const column of this.explorer.searched) {
            const hits = [];
            if (wanted) {
                column.sheet.rows.forEach((row, position) => {
                    if (column.sheet.text(row).toLowerCase().includes(wanted)) hits.push(position);
                });
            }
            column.setHits(new Set(hits));
            this.hits.push(...hits.map(position => [column, position]));
        }
        this._tell();
    }

    go(step) {
        if (!this.hits.length) return;
        this.at = this.at < 0 && step < 0 ? this.hits.length - 1 : (this.at + step + this.hits.length) % this.hits.length;
        const [column, position] = this.hits[this.at];
        column.moveTo(position);
        this._tell();
    }

    _tell() {
        const found = byId("found");
        if (!this.wanted) found.textContent = "";
        else if (!this.hits.length) found.textContent = "nothing found";
        else found.textContent = this.at < 0 ? plural(this.hits.length, "hit") : `${count(this.at + 1)} of ${count(this.hits.length)}`;
        for (const id of ["found-before", "found-next"]) byId(id).disabled = !this.hits.length;
    }
}

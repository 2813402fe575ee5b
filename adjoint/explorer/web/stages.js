/* The slider over all stages, in the order in which the compiler goes through them. */

class Stages {
    constructor(explorer) {
        this.explorer = explorer;
        const {stages} = explorer.program;
        byId("stages").hidden = !stages.length;
        this.slider = byId("stage");
        this.slider.max = String(Math.max(0, stages.length - 1));
        this.slider.addEventListener("input", () => explorer.setStage(stages[Number(this.slider.value)]));
        byId("stage-before").addEventListener("click", () => this.step(-1));
        byId("stage-next").addEventListener("click", () => this.step(1));
        byId("difference").addEventListener("change", event => explorer.setDifference(event.target.checked));
        byId("stages").style.setProperty("--stages", String(Math.max(1, stages.length)));
        this.ticks = stages.map(stage => make(
            "button", {
                type: "button", tabindex: "-1", class: `tick of-${stage.column}`, title: stage.title, click: () => explorer.setStage(stage),
            }, make("span", {}, stage.title.replace(/\{.*/, "")),
        ));
        byId("ticks").append(...this.ticks);
    }

    step(by) {
        const next = this.explorer.program.stages[Number(this.slider.value) + by];
        if (next) this.explorer.setStage(next);
    }

    /* Show the stage that was chosen last, and those that the columns show. */
    show(stage, shown) {
        if (!stage) return;
        this.slider.value = String(stage.position);
        this.slider.setAttribute("aria-valuetext", `${stage.title}, in the column ${COLUMN_TITLES[stage.column]}`);
        byId("stage-title").textContent = stage.title;
        byId("stage-about").textContent = [stage.about, ...(stage.notes ?? [])].filter(Boolean).join(" ");
        byId("stage-about").title = byId("stage-about").textContent;
        byId("stage-before").disabled = stage.position === 0;
        byId("stage-next").disabled = stage.position === this.explorer.program.stages.length - 1;
        const {changes} = stage;
        const from = changes && this.explorer.program.stage(changes.from);
        byId("difference").disabled = !from;
        byId("stage-changes").textContent = !from ? "" : changes.removed.length + changes.added.length === 0 ? `as in ${from.title}`
            : `−${count(changes.removed.length)} +${count(changes.added.length)} lines since ${from.title}`;
        this.ticks.forEach((tick, position) => {
            tick.classList.toggle("current", position === stage.position);
            tick.classList.toggle("shown", shown.has(this.explorer.program.stages[position]));
        });
    }
}

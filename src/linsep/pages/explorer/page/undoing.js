// Undo and redo: what the points and settings were before each change.

export function undoing(page) {
  const { state, part } = page, past = [], future = [];
  let latest = "";

  // Rows are never changed in place, so a copy of the list is enough.
  const present = () => ({
    rows: [...state.rows], labels: [...state.labels], names: state.names, classes: [...state.classes], settings: { ...state.settings },
    held: state.held, box: state.box, said: state.said, preset: state.preset,
  });
  function remember(what = "") { // called before a change; changes of the same kind in a row are one
    if (what === "" || what !== latest) {
      past.push(present());
      if (past.length > 200) past.shift();
    }
    latest = what;
    future.length = 0;
    drawHistory();
  }
  function back(from, to) {
    if (!from.length) return;
    page.pause();
    page.drag = null;
    to.push(present());
    const then = from.pop();
    Object.assign(state, then, { chosen: Math.min(state.chosen, Math.max(0, then.rows.length - 1)) });
    latest = "";
    page.showPreset();
    page.writeFields();
    drawHistory();
    page.refresh();
  }
  const undo = () => back(past, future), redo = () => back(future, past);
  function drawHistory() {
    part.undo.disabled = !past.length;
    part.redo.disabled = !future.length;
  }
  page.root.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest("textarea, input:not([type=range], [type=checkbox])")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) undo();
    else if ((key === "z" && event.shiftKey) || key === "y") redo();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return { remember, undo, redo, drawHistory };
}

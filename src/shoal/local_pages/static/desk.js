// Leads to what work that has just ended brought: also who sees no page hears it.
const ended = sessionStorage.getItem("ended");
sessionStorage.removeItem("ended");
const brought = ended && (document.querySelector('main [id^="failed-"]') ?? document.getElementById(ended));
if (brought) {
  brought.tabIndex = -1;
  brought.focus();
}
// Asks how far work has come, and shows the page again when it has ended. Without scripts the link does the same.
for (const box of document.querySelectorAll("[data-progress]")) {
  const bar = box.querySelector("progress");
  const left = seconds => seconds === null || seconds === undefined ? ""
    : seconds >= 90 ? box.dataset.minutes.replace("#", Math.round(seconds / 60))
    : box.dataset.seconds.replace("#", seconds);
  let command = null;
  const look = async () => {
    try {
      const answer = await fetch(box.dataset.progress, { credentials: "same-origin" });
      const job = await answer.json();
      command ??= job.command;
      const busy = ["starting", "running"].includes(job.state);
      if (!busy) sessionStorage.setItem("ended", box.dataset.then);
      if (!busy || job.command !== command) { location.reload(); return; }
      if (job.progress) {
        box.querySelector(".label").textContent = job.progress.label;
        box.querySelector(".left").textContent = left(job.progress.left_s);
        if (job.progress.total) bar.value = 100 * job.progress.done / job.progress.total;
      }
    } catch { /* the desk was stopped or starts again: ask once more */ }
    setTimeout(look, 700);
  };
  look();
}
document.getElementById("refused")?.scrollIntoView({ block: "center" });

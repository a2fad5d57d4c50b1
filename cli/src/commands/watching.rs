//! Runs what only waits and looks on: on this thread, without a supervisor, and without taking signals over.

use ratchet_supervisor::event::{EVENT_BACKLOG, EventSink};
use tokio::sync::mpsc;

use super::stage::report_lost_output;
use crate::args::Format;
use crate::diagnostic::Failure;
use crate::live::{self, CtrlC, Told};
use crate::ui::Ui;

/// Runs a future on this thread.
pub(super) fn on_this_thread<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::from_error(&error))?;
    Ok(runtime.block_on(future))
}

/// Shows the events that `tell` sends, until it returns.
pub(super) fn watching<T>(
    ui: Ui,
    format: Format,
    tell: impl AsyncFnOnce(EventSink) -> T,
) -> Result<T, Failure> {
    on_this_thread(async {
        let (sink, events) = mpsc::channel(EVENT_BACKLOG);
        let shown = tokio::task::spawn_blocking(move || {
            live::show(events, ui, format, CtrlC::Leaves, Told::default())
        });
        let told = tell(sink).await;
        report_lost_output(ui, shown.await);
        told
    })
}

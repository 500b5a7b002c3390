//! The signals that ask a process to end.

/// Waits for Ctrl-C or, on Unix, SIGTERM, which orchestrators send before they kill a process.
/// If SIGTERM cannot be listened for, Ctrl-C still ends the wait.
///
/// [`Server::serve`](crate::Server::serve) does this itself; it is for programs that run several
/// servers:
///
/// ```no_run
/// # async fn example(flows: oxikit_serve::BoundServer, agents: oxikit_serve::BoundServer) {
/// tokio::join!(
///     flows.run(oxikit_serve::asked_to_end()),
///     agents.run(oxikit_serve::asked_to_end()),
/// );
/// # }
/// ```
pub async fn asked_to_end() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            },
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
}

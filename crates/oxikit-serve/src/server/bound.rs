//! A server whose address is known: it accepts connections until it is stopped.

use std::io;
use std::net::SocketAddr;
#[cfg(feature = "dev-tools")]
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use oxikit_http::{SenderCheck, Shutdown};
#[cfg(feature = "dev-tools")]
use oxikit_reflection::DevTools;
use tokio::net::{TcpListener, TcpStream};
#[cfg(feature = "dev-tools")]
use tokio_util::sync::CancellationToken;

use super::Server;
#[cfg(feature = "dev-tools")]
use crate::end::asked_to_end;

/// Maximum time that open requests get to end while the developer tools are attached. It is
/// short because the official tools wait for the end of the application without a limit, and a
/// developer waits for both.
#[cfg(feature = "dev-tools")]
const DEV_DRAIN: Duration = Duration::from_millis(500);

/// A [`Server`] that listens. Connections wait in the queue of the operating system until it
/// [runs](Self::run).
#[derive(Debug)]
pub struct BoundServer {
    pub(super) server: Server,
    pub(super) listener: TcpListener,
}

impl BoundServer {
    /// The address that it listens on, with the real port if port 0 was asked for.
    ///
    /// # Errors
    ///
    /// Those of the operating system, which does not fail for a socket that listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready. Then it accepts no more connections, gives open requests
    /// [`Limits::drain_time`](crate::Limits::drain_time) to end, and ends open streams with an
    /// error block.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { server, listener } = self;
        if let Ok(address) = listener.local_addr() {
            server.log_start(address);
        }
        let shutdown = Shutdown::default();
        let (asks_who_calls, limits) = (server.asks_who_calls(), server.listener_limits());
        let is_local = server.host.is_loopback();
        let sender = if is_local { SenderCheck::local() } else { SenderCheck::any_host() };
        let router = TowerToHyperService::new(server.into_router(shutdown.clone(), sender));
        let service_of = |_: &TcpStream, peer: SocketAddr| {
            let router = router.clone();
            service_fn(move |mut request: Request<Incoming>| {
                // The address is only needed to count wrong keys.
                if asks_who_calls {
                    request.extensions_mut().insert(ConnectInfo(peer));
                }
                router.call(request)
            })
        };
        oxikit_http::serve(listener, service_of, limits, shutdown, stop).await;
    }
}

#[cfg(feature = "dev-tools")]
impl BoundServer {
    /// Serves beside the developer tools until the process is asked to end. Both end at the same
    /// time: the tools wait for the process, and would show it as running for as long as it
    /// drains.
    pub(super) async fn run_beside(mut self, dev_tools: DevTools) {
        let limits = &mut self.server.limits;
        limits.drain_time = limits.drain_time.min(DEV_DRAIN);
        let ended = CancellationToken::new();
        let close = async {
            asked_to_end().await;
            ended.cancel();
            dev_tools.close().await;
        };
        tokio::join!(self.run(ended.cancelled()), close);
    }
}

//! Listening sockets, and error messages that say how to choose another port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use tokio::net::TcpListener;

/// Number of attempts to find a port that is free on both loopback addresses.
const ATTEMPTS: usize = 16;

/// The choice of a port to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortChoice {
    /// The first free port of this range.
    FirstFree(RangeInclusive<u16>),
    /// This port; 0 means any free port.
    Fixed(u16),
}

/// Listens on one address.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let listener = oxikit_http::ports::bind("127.0.0.1", 0, "`--port`").await?;
/// let port = listener.local_addr()?.port();
/// let in_use = oxikit_http::ports::bind("127.0.0.1", port, "`--port`").await.unwrap_err();
/// assert!(in_use.to_string().ends_with("or choose another port by `--port`"));
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// If the address cannot be used. The message names it and says what to do; `option` is
/// how the user chooses another port, such as an environment variable.
pub async fn bind(host: &str, port: u16, option: &str) -> io::Result<TcpListener> {
    TcpListener::bind((host, port)).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("port {port} is in use; end the program that uses it, or choose another port by {option}")
            }
            io::ErrorKind::PermissionDenied if port < 1024 => {
                format!("this user may not listen on port {port}; choose one above 1023 by {option}")
            }
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("cannot listen on {host}, port {port}: {hint}"))
    })
}

/// Listens on the first free port of a range.
///
/// # Errors
///
/// If no port of the range is free; `option` is how the user names another one.
pub async fn bind_first_free(
    host: &str,
    ports: RangeInclusive<u16>,
    option: &str,
) -> io::Result<TcpListener> {
    let (first, last) = (*ports.start(), *ports.end());
    for port in ports {
        match TcpListener::bind((host, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    let message = format!("all ports from {first} to {last} are in use; name another by {option}");
    Err(io::Error::new(io::ErrorKind::AddrInUse, message))
}

/// A port on one address, or on both loopback addresses.
///
/// ```
/// use std::net::{IpAddr, Ipv4Addr};
/// use oxikit_http::ports::{BoundPort, PortChoice};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// let port = BoundPort::bind("API", loopback, &PortChoice::Fixed(0), None).await?;
/// assert!(port.url("http").starts_with("http://127.0.0.1:"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BoundPort {
    /// The listening sockets, one for each address.
    pub listeners: Vec<TcpListener>,
    address: SocketAddr,
}

impl BoundPort {
    /// Listens on a port of this choice, or on the `preferred` one if it is among them.
    /// `localhost` means both loopback addresses, where the machine has both.
    ///
    /// # Errors
    ///
    /// If none of the ports is free. The message contains `name`, the purpose of the port.
    pub async fn bind(
        name: &str,
        host: IpAddr,
        choice: &PortChoice,
        preferred: Option<u16>,
    ) -> io::Result<Self> {
        let (ports, text): (Vec<u16>, String) = match choice {
            PortChoice::FirstFree(ports) => {
                let preferred = preferred.filter(|port| ports.contains(port));
                let text = format!("{}–{}", ports.start(), ports.end());
                (preferred.into_iter().chain(ports.clone()).collect(), text)
            }
            PortChoice::Fixed(0) => (vec![0; ATTEMPTS], "0".to_owned()),
            PortChoice::Fixed(port) => (vec![*port], port.to_string()),
        };
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        for port in ports {
            match Self::bind_port(host, port).await {
                Ok(bound) => return Ok(bound),
                Err(error) => last = error,
            }
        }
        let message = format!("the {name} port {text} of {host} cannot be listened on: {last}");
        Err(io::Error::new(last.kind(), message))
    }

    /// `localhost` is two addresses: a port that another program has on one of them is not
    /// free, because callers could reach that program instead.
    async fn bind_port(host: IpAddr, port: u16) -> io::Result<Self> {
        let first = TcpListener::bind((host, port)).await?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        if host == Ipv4Addr::LOCALHOST {
            match TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())).await {
                Ok(second) => listeners.push(second),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                // This machine has no IPv6.
                Err(_) => {}
            }
        }
        Ok(Self { listeners, address })
    }

    /// The number of the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL by which programs of this machine reach the port.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}", local_address(self.address))
    }
}

/// The address by which programs of this machine reach a listening socket.
pub fn local_address(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}

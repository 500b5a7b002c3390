//! Finds the process at the other end of a connection on this machine.
//!
//! Linux lists every connection with its user and the inode of its socket in `/proc/net/tcp`,
//! and the open sockets of each process in `/proc/<pid>/fd`. On other systems no process is
//! found.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use oxikit_local::untrusted_file::{MAX_SMALL, read_text};

/// Maximum number of bytes that are read of the table of connections: about 100,000 of them.
/// Connections after that are not found.
const MAX_TABLE: u64 = 16 << 20;
/// Maximum number of parents that are followed. Deeper descendants are not found.
const MAX_GENERATIONS: usize = 32;

/// A process whose spans are accepted without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnProcess {
    /// The process with this id, its process group, and its descendants.
    Application(u32),
    /// Only the process with this id.
    Runtime(u32),
}

/// The process of a runtime, and the texts by which its traces are found.
///
/// ```
/// use oxikit_traces::{OwnProcesses, RuntimeProcess};
///
/// let kitchen = || RuntimeProcess { pid: 4711, names: vec!["kitchen".to_owned()] };
/// let processes = OwnProcesses::default().with_runtimes(move || vec![kitchen()]);
/// # _ = processes;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeProcess {
    /// The id of the process.
    pub pid: u32,
    /// The id of the runtime, and the name of its application.
    pub names: Vec<String>,
}

/// The names of a runtime, shared by the posts of its connection; empty if it is not known.
pub(super) type RuntimeNames = Arc<[String]>;

/// The process at the other end of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Peer {
    /// Whether its spans are accepted as verified without a token.
    pub(super) is_own: bool,
    /// The names of the runtime that it is.
    pub(super) runtime: RuntimeNames,
}

/// The processes that a connection is compared with.
pub(super) struct Wanted<'a> {
    pub(super) own: &'a [OwnProcess],
    pub(super) runtimes: &'a [RuntimeProcess],
}

/// The process of the connection from `peer` to `local`, the address of this server: it must hold
/// the socket, and the socket must belong to the user of this process.
pub(super) fn find(wanted: &Wanted<'_>, peer: SocketAddr, local: SocketAddr) -> Peer {
    let Some(user) = own_user() else { return Peer::default() };
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = tables.map(|table| read_text(Path::new(table), MAX_TABLE));
    let tables = tables.iter().flatten();
    let Some(socket) = tables.flat_map(|table| table.lines()).find_map(|line| {
        let entry = Entry::read(line)?;
        (entry.is_between(peer, local) && entry.user == user && entry.socket != 0)
            .then_some(entry.socket)
    }) else {
        return Peer::default();
    };
    // The inode identifies the socket; a process that holds it has it among its file descriptors.
    // Only wanted processes are searched, which are few. Several may hold it, after a fork.
    let processes = Process::all();
    let mut found = Peer::default();
    for process in &processes {
        let is_own = wanted.own.iter().any(|own| process.is(*own, &processes));
        let runtime = wanted.runtimes.iter().find(|runtime| runtime.pid == process.id);
        if (is_own || runtime.is_some()) && process.holds(socket) {
            found.is_own |= is_own;
            found.runtime = runtime.map_or(found.runtime, |runtime| runtime.names[..].into());
        }
    }
    found
}

/// The user of this process.
#[cfg(unix)]
fn own_user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

/// Other systems do not report it.
#[cfg(not(unix))]
fn own_user() -> Option<u32> {
    None
}

/// A line of the table of connections: `n: local remote state queues timer retransmits user
/// timeout socket …`.
struct Entry<'a> {
    local: &'a str,
    remote: &'a str,
    user: u32,
    socket: u64,
}

impl<'a> Entry<'a> {
    /// Reads a line; `None` for the heading and for lines in another form.
    fn read(line: &'a str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let (local, remote) = (fields.nth(1)?, fields.next()?);
        let (user, socket) = (fields.nth(4)?.parse().ok()?, fields.nth(1)?.parse().ok()?);
        Some(Self { local, remote, user, socket })
    }

    /// Whether it is the other end: its own address is that of the peer.
    fn is_between(&self, peer: SocketAddr, local: SocketAddr) -> bool {
        is_written(self.local, peer) && is_written(self.remote, local)
    }
}

/// Whether this is how the table writes the address: 32-bit words in the byte order of the
/// machine, in hexadecimal digits. A program may use an IPv6 socket for an IPv4 address.
fn is_written(text: &str, address: SocketAddr) -> bool {
    let words = |octets: &[u8]| -> String {
        let word = |word: &[u8; 4]| format!("{:08X}", u32::from_ne_bytes(*word));
        octets.as_chunks::<4>().0.iter().map(word).collect()
    };
    let is = |ip: String| text == format!("{ip}:{:04X}", address.port());
    match address.ip() {
        IpAddr::V4(ip) => is(words(&ip.octets())) || is(words(&ip.to_ipv6_mapped().octets())),
        IpAddr::V6(ip) => is(words(&ip.octets())),
    }
}

/// A process of this machine.
#[derive(Debug, Clone, Copy)]
struct Process {
    id: u32,
    parent: u32,
    group: u32,
}

impl Process {
    /// All processes that can be read, in the order of their ids.
    fn all() -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let mut all: Vec<_> = entries.flatten().filter_map(|it| Self::read(&it.path())).collect();
        all.sort_unstable_by_key(|process| process.id);
        all
    }

    /// Reads `/proc/<pid>/stat`: `pid (name) state parent group …`. The name may contain spaces
    /// and parentheses, so the fields are counted from the last `)`.
    fn read(folder: &Path) -> Option<Self> {
        let id = folder.file_name()?.to_str()?.parse().ok()?;
        let stat = read_text(&folder.join("stat"), MAX_SMALL).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (parent, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Self { id, parent, group })
    }

    /// Whether this process is the known one, or belongs to the known application.
    fn is(&self, own: OwnProcess, all: &[Self]) -> bool {
        match own {
            OwnProcess::Runtime(id) => self.id == id,
            OwnProcess::Application(leader) => {
                let parent = |process: &Self| {
                    let place = all.binary_search_by_key(&process.parent, |other| other.id);
                    place.ok().map(|place| all[place])
                };
                self.group == leader
                    || std::iter::successors(Some(*self), parent)
                        .take(MAX_GENERATIONS)
                        .any(|process| process.id == leader)
            }
        }
    }

    /// Whether one of its file descriptors is the socket. The files of processes of other users
    /// cannot be read, and count as not held.
    fn holds(&self, socket: u64) -> bool {
        let name = format!("socket:[{socket}]");
        let Ok(files) = std::fs::read_dir(format!("/proc/{}/fd", self.id)) else { return false };
        let is_it = |path: &Path| std::fs::read_link(path).is_ok_and(|to| to == Path::new(&name));
        files.flatten().any(|file| is_it(&file.path()))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Command};

    use super::*;

    /// A process beside this one, until the test ends.
    struct Other(Child);

    impl Drop for Other {
        fn drop(&mut self) {
            _ = self.0.kill();
            _ = self.0.wait();
        }
    }

    fn other() -> Other {
        Other(Command::new("sleep").arg("60").spawn().expect("there is `sleep`"))
    }

    #[track_caller]
    fn check(known: &[OwnProcess], expected: bool) {
        for host in ["127.0.0.1", "::1"] {
            let Ok(listener) = TcpListener::bind((host, 0)) else { continue };
            let local = listener.local_addr().expect("it is bound");
            let client = TcpStream::connect(local).expect("it listens");
            let peer = client.local_addr().expect("it is connected");
            let wanted = Wanted { own: known, runtimes: &[] };
            let is_own = |peer, local| find(&wanted, peer, local).is_own;
            assert_eq!(is_own(peer, local), expected, "{host}: {known:?}");
            // The ends are not mixed up, and neither is another port.
            assert!(!is_own(local, local), "{host}: {known:?}");
            let elsewhere = SocketAddr::new(local.ip(), local.port() ^ 1);
            assert!(!is_own(peer, elsewhere), "{host}: {known:?}");
            drop(client);
        }
    }

    #[test]
    fn a_connection_belongs_to_the_process_that_holds_it() {
        use OwnProcess::{Application, Runtime};
        let (own, parent, other) =
            (std::process::id(), std::os::unix::process::parent_id(), other());
        check(&[], false);
        check(&[Runtime(own)], true);
        check(&[Application(own)], true);
        check(&[Application(parent)], true);
        check(&[Runtime(parent)], false);
        check(&[Runtime(other.0.id()), Application(other.0.id())], false);
        check(&[Runtime(other.0.id()), Runtime(own)], true);
        check(&[Runtime(0), Application(u32::MAX)], false);
    }

    #[test]
    fn a_connection_has_the_names_of_its_runtime_which_is_no_token() {
        let other = other();
        let runtime = |pid, name: &str| RuntimeProcess { pid, names: vec![name.to_owned()] };
        let runtimes = [runtime(other.0.id(), "other"), runtime(std::process::id(), "kitchen")];
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let local = listener.local_addr().expect("it is bound");
        let client = TcpStream::connect(local).expect("it listens");
        let peer = client.local_addr().expect("it is connected");
        let found = find(&Wanted { own: &[], runtimes: &runtimes }, peer, local);
        assert_eq!((found.is_own, &*found.runtime), (false, ["kitchen".to_owned()].as_slice()));
        let found = find(&Wanted { own: &[], runtimes: &runtimes[..1] }, peer, local);
        assert!(found.runtime.is_empty());
    }

    #[test]
    fn a_line_of_the_table_is_read() {
        let line = "  12: 0100007F:D431 0100007F:0FC1 01 00000000:00000000 00:00000000 00000000  1000        0 934412 1 0000000000000000 20 4 30 10 -1";
        let entry = Entry::read(line).expect("it can be read");
        assert_eq!((entry.user, entry.socket), (1000, 934_412));
        let address = |text: &str| text.parse().expect("an address");
        let (peer, local) = (address("127.0.0.1:54321"), address("127.0.0.1:4033"));
        #[cfg(target_endian = "little")]
        assert!(entry.is_between(peer, local) && !entry.is_between(local, peer));
        for line in ["", "sl local_address rem_address st", "1: 0100007F:0FC1"] {
            assert!(Entry::read(line).is_none(), "{line}");
        }
    }
}

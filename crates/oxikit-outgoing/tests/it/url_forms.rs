//! Forms of URLs that lead to this machine, to a private network or to a special address. The
//! tests of other crates use the list too.

use std::net::Ipv4Addr;

/// One address of each kind that is not public.
pub(crate) const V4: [[u8; 4]; 17] = [
    [127, 0, 0, 1],
    [127, 255, 255, 254],
    [0, 0, 0, 0],
    [0, 1, 2, 3],
    [10, 0, 0, 1],
    [100, 64, 0, 1],
    [100, 100, 100, 200],
    [168, 63, 129, 16],
    [169, 254, 169, 254],
    [172, 31, 255, 254],
    [192, 0, 0, 192],
    [192, 0, 2, 1],
    [192, 168, 1, 1],
    [198, 18, 0, 1],
    [203, 0, 113, 1],
    [224, 0, 0, 1],
    [255, 255, 255, 255],
];

pub(crate) const V6: [&str; 18] = [
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "0000:0000:0000:0000:0000:0000:0000:0001",
    "::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
];

/// The texts that the URL standard reads as this IPv4 address.
pub(crate) fn notations(address: [u8; 4]) -> Vec<String> {
    let [a, b, c, d] = address;
    let number = u32::from_be_bytes(address);
    let dotted = Ipv4Addr::from(address).to_string();
    let each = |change: fn(char) -> String| dotted.chars().map(change).collect::<String>();
    vec![
        dotted.clone(),
        format!("{dotted}."),
        format!("{number}"),
        format!("0x{number:x}"),
        format!("0X{number:X}"),
        format!("0{number:o}"),
        format!("0x0000000{number:08x}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("000{a:o}.000{b:o}.000{c:o}.000{d:o}"),
        format!("0x{a:x}.{b}.0{c:o}.{d}"),
        format!("{a}.{}", number & 0xff_ffff),
        format!("{a}.{b}.{}", number & 0xffff),
        format!("0x{a:x}.{b}.0x{:x}", number & 0xffff),
        // Fullwidth digits, digits in circles, other full stops, percent encoding.
        each(|char| match char.to_digit(10) {
            Some(digit) => char::from_u32(0xff10 + digit).unwrap().to_string(),
            None => char.to_string(),
        }),
        each(|char| match char.to_digit(10) {
            Some(0) => "\u{24ea}".into(),
            Some(digit) => char::from_u32(0x2460 + digit - 1).unwrap().to_string(),
            None => char.to_string(),
        }),
        dotted.replace('.', "\u{3002}"),
        dotted.replace('.', "\u{ff61}"),
        dotted.replace('.', "%2e"),
        each(|char| format!("%{:02x}", u32::from(char))),
        each(|char| format!("{char}\u{ad}")),
    ]
}

/// IPv6 addresses that contain this IPv4 address.
fn embedded(address: [u8; 4]) -> Vec<String> {
    let [a, b, c, d] = address;
    let dotted = Ipv4Addr::from(address);
    let groups = format!("{:x}:{:x}", u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    vec![
        format!("[::ffff:{dotted}]"),
        format!("[::ffff:{groups}]"),
        format!("[0:0:0:0:0:ffff:{dotted}]"),
        format!("[::{dotted}]"),
        format!("[::ffff:0:{dotted}]"),
        format!("[64:ff9b::{dotted}]"),
        format!("[64:ff9b::{groups}]"),
        format!("[64:ff9b:1::{dotted}]"),
        format!("[2002:{groups}::1]"),
        format!("[2001:0:{groups}::1]"),
    ]
}

/// Ways to write a URL whose host is `127.0.0.1` that differ outside of the host.
fn disguises(port: u16) -> Vec<String> {
    let host = format!("127.0.0.1:{port}");
    let mut urls = vec![
        format!("http:{host}/"),
        format!("http:/{host}/"),
        format!("http:///{host}/"),
        format!("http:////{host}/"),
        format!("http:\\\\{host}\\"),
        format!("http:/\\{host}/"),
        format!("HTTP://{host}/"),
        format!("hTtPs://{host}/"),
        format!(" http://{host}/ "),
        format!("\u{1}http://{host}/"),
        format!("ht\ttp://{host}/"),
        format!("http://127.0\n.0.1:{port}/"),
        format!("http://{host}#@example.com/"),
        format!("http://{host}?@example.com/"),
        format!("http://{host}\\@example.com/"),
        format!("http://{host}/@example.com"),
        format!("http://@{host}/"),
        format!("http://:@{host}/"),
        format!("http://127.0.0.1:000{port}/"),
    ];
    // Refused for the user name or the password alone.
    let users = ["user", "user:pass", ":pass", "example.com", "example.com:80", "%40", "a@b"];
    for user in users {
        urls.push(format!("http://{user}@{host}/"));
        urls.push(format!("https://{user}@example.com/"));
    }
    urls
}

fn other_schemes(port: u16) -> Vec<String> {
    let schemes = ["ftp", "ws", "wss", "gopher", "dict", "ldap", "tftp", "jar", "unix", "file"];
    let mut urls: Vec<_> =
        schemes.iter().map(|scheme| format!("{scheme}://127.0.0.1:{port}/")).collect();
    urls.extend(
        [
            "file:///etc/passwd",
            "data:text/plain,x",
            "javascript:alert(1)",
            "about:blank",
            "mailto:a@b.c",
        ]
        .map(str::to_owned),
    );
    urls
}

/// Names of this machine, for a name server that knows them.
fn names(port: u16) -> Vec<String> {
    let names = [
        "localhost",
        "LOCALHOST",
        "LocalHost",
        "localhost.",
        "localhost..",
        "loc%61lhost",
        "\u{ff4c}ocalhost",
        "loc\u{ad}alhost",
        "app.localhost",
        "ip6-localhost",
        "localhost.localdomain",
        "127.0.0.1.nip.io",
        "metadata.google.internal",
        "innocent.example.com",
        "127.0.0.1..",
        "[::1%25lo]",
        "[::1%lo]",
    ];
    names.iter().map(|name| format!("http://{name}:{port}/")).collect()
}

/// All forms, also those that the parser of URLs rejects.
pub(crate) fn forms(port: u16) -> Vec<String> {
    let mut hosts: Vec<_> = V4.into_iter().flat_map(notations).collect();
    hosts.extend(V4.into_iter().flat_map(embedded));
    hosts.extend(V6.iter().map(|address| format!("[{address}]")));
    let mut urls: Vec<_> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    urls.extend(hosts.iter().map(|host| format!("https://{host}:{port}/")));
    urls.extend([disguises(port), other_schemes(port), names(port)].concat());
    urls
}

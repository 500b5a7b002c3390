//! Where an agent is called over gRPC, for its card.

use oxikit_wire::a2a::{AgentInterface, Version, binding};

use super::agent_options::Served;

/// The interfaces of an agent on its card. Version 0.3 has no tenants, so that only the first
/// agent can be called over gRPC in it.
pub(super) fn interfaces(agent: &Served, base: &str) -> Vec<AgentInterface> {
    let url = authority(base);
    let mut new = AgentInterface::new(&url, binding::GRPC, Version::V1_0);
    if agent.is_first {
        return vec![new, AgentInterface::new(url, binding::GRPC, Version::V0_3)];
    }
    new.tenant = Some(agent.name.to_string());
    vec![new]
}

/// Host and port of a URL: clients of gRPC do not take a scheme.
fn authority(base: &str) -> String {
    let (rest, port) = match base.strip_prefix("https://") {
        Some(rest) => (rest, 443),
        None => (base.strip_prefix("http://").unwrap_or(base), 80),
    };
    let host = rest.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    if has_port { host.to_owned() } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_name_host_and_port() {
        for (base, expected) in [
            ("http://127.0.0.1:3400", "127.0.0.1:3400"),
            ("http://agents.example", "agents.example:80"),
            ("https://agents.example/below", "agents.example:443"),
            ("https://[::1]", "[::1]:443"),
            ("http://[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(authority(base), expected, "{base}");
        }
    }
}

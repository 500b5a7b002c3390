//! The files of `deploy/`: they parse, and name files, ports, variables and paths that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use research_studio::records::AgentName;
use research_studio::{Settings, Studio};
use serde_json::Value;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

fn read(name: &str) -> String {
    fs::read_to_string(deploy().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// All ports of a studio with the default settings of the environment.
fn ports() -> Vec<u16> {
    let settings = Settings { first_agent_port: 3401, ..Settings::default() };
    let agents = AgentName::ALL.map(|agent| settings.agent_port(agent));
    [3400].into_iter().chain(agents).collect()
}

/// Whether the settings, a provider or the telemetry read a variable.
fn is_known(variable: &str) -> bool {
    let settings = include_str!("../../src/settings.rs");
    settings.contains(&format!("\"{variable}\""))
}

#[test]
fn the_image_is_small_and_not_root() {
    let file = read("Dockerfile");
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let stages: Vec<_> = lines.iter().filter(|line| line.starts_with("FROM ")).collect();
    assert_eq!(stages.len(), 2, "{stages:?}");
    assert!(stages[1].contains("-slim"));
    assert!(lines.contains(&"USER 10001"));
    assert!(lines.contains(&"ENTRYPOINT [\"research-studio\"]"));
    let program = format!("target/release/{}", env!("CARGO_PKG_NAME"));
    assert!(file.contains(&program), "{program}");
    let root = deploy().join("../../..");
    for source in file.match_indices("/source/examples").map(|(at, _)| &file[at + 8..]) {
        let path = source.split_whitespace().next().unwrap();
        assert!(root.join(path).exists(), "{path}");
    }
    let exposed = lines.iter().find_map(|line| line.strip_prefix("EXPOSE ")).unwrap();
    let exposed: Vec<u16> = exposed.split(' ').map(|port| port.parse().unwrap()).collect();
    assert_eq!(exposed, ports());
    let variables = lines.iter().find_map(|line| line.strip_prefix("ENV ")).unwrap();
    for (name, _) in variables.split(' ').filter_map(|it| it.split_once('=')) {
        assert!(is_known(name), "{name}");
    }
}

#[test]
fn the_compose_file_fits_the_studio() {
    let file = yaml(&read("compose.yaml"));
    let services = file["services"].as_object().unwrap();
    let names: Vec<_> = services.keys().map(String::as_str).collect();
    assert_eq!(names, ["studio", "postgres", "toolbox", "nats"]);
    let studio = &services["studio"];
    let context = deploy().join(studio["build"]["context"].as_str().unwrap());
    assert!(context.join(studio["build"]["dockerfile"].as_str().unwrap()).exists());
    assert_eq!(texts(&studio["ports"]), ["127.0.0.1:3400-3408:3400-3408"]);
    for name in studio["environment"].as_object().unwrap().keys() {
        assert!(is_known(name), "{name}");
    }
    for service in services.values() {
        for volume in texts(&service["volumes"]) {
            let source = volume.split(':').next().unwrap();
            let is_named = file["volumes"].get(source).is_some();
            assert!(is_named || deploy().join(source).is_file(), "{volume}");
        }
        for other in service["depends_on"].as_object().into_iter().flatten() {
            assert!(services.contains_key(other.0), "{other:?}");
        }
    }
    // The version of Toolbox is the one that the tests run.
    let packages = deploy().join("../../../interop/package.json");
    let packages: Value = serde_json::from_str(&fs::read_to_string(packages).unwrap()).unwrap();
    let version =
        packages["optionalDependencies"]["@toolbox-sdk/server-linux-x64"].as_str().unwrap();
    let image = services["toolbox"]["image"].as_str().unwrap();
    assert!(image.ends_with(&format!(":{version}")), "{image}");
}

#[test]
fn the_app_hosting_file_names_known_variables() {
    let file = yaml(&read("apphosting.yaml"));
    for variable in file["env"].as_array().unwrap() {
        assert!(is_known(variable["variable"].as_str().unwrap()), "{variable}");
        let has_value = variable.get("value").is_some() != variable.get("secret").is_some();
        assert!(has_value, "{variable}");
    }
    assert!(
        file["runConfig"]["maxInstances"].as_u64() > file["runConfig"]["minInstances"].as_u64()
    );
}

#[tokio::test]
async fn the_manifests_fit_the_studio_and_its_probes_answer() {
    let text = read("kubernetes/studio.yaml");
    let documents: Vec<Value> = text.split("\n---\n").map(yaml).collect();
    let [deployment, service] = documents.as_slice() else { panic!("{}", documents.len()) };
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]);
    let container = &pod["containers"][0];
    let declared = container["ports"].as_array().unwrap();
    for port in declared {
        let number = u16::try_from(port["containerPort"].as_u64().unwrap()).unwrap();
        assert!(ports().contains(&number), "{number}");
    }
    for port in service["spec"]["ports"].as_array().unwrap() {
        assert!(declared.iter().any(|it| it["name"] == port["targetPort"]), "{port}");
    }

    let studio = Studio::start(Settings::default(), &[]).await.unwrap();
    let paths = studio.flow_server().unwrap().paths();
    for probe in ["readinessProbe", "livenessProbe"] {
        let request = &container[probe]["httpGet"];
        assert!(paths.iter().any(|path| path == request["path"].as_str().unwrap()), "{request}");
        assert_eq!(request["port"], "flows");
    }
}

#[test]
fn both_tool_files_have_the_same_tools_with_prepared_statements() {
    let postgres = yaml(&read("toolbox/postgres.yaml"));
    let sqlite = yaml(&read("toolbox/sqlite.yaml"));
    let tools = postgres["tools"].as_object().unwrap();
    assert!(tools.len() >= 7);
    assert_eq!(postgres["toolsets"], sqlite["toolsets"]);
    for (name, tool) in tools {
        let other = &sqlite["tools"][name];
        assert_eq!(tool["parameters"], other["parameters"], "{name}");
        for tool in [tool, other] {
            let statement = tool["statement"].as_str().unwrap();
            let parameters = tool["parameters"].as_array().map_or(0, Vec::len);
            let used: BTreeSet<_> = statement.split('$').skip(1).map(|rest| &rest[..1]).collect();
            assert_eq!(used.len(), parameters, "{name}");
            assert!(!statement.contains("{{"), "{name} has a template in its statement");
        }
    }
    for (set, names) in postgres["toolsets"].as_object().unwrap() {
        for name in texts(names) {
            assert!(tools.contains_key(name), "{set} names {name}");
        }
    }
    let schema = read("toolbox/library.sql");
    for table in ["papers", "notes", "tags"] {
        assert!(schema.contains(&format!("CREATE TABLE IF NOT EXISTS {table}")), "{table}");
    }
}

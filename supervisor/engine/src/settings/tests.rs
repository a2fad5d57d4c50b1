//! What files say, what wins, what may be set and what is shown.

use secrecy::ExposeSecret;

use super::*;
use crate::permission::Escalation;
use crate::yaml;

fn project(text: &str) -> Layer {
    let (layer, issues) = Layer::from_project(&yaml::parse(text).unwrap());
    assert_eq!(issues, [], "{text}");
    layer
}

fn settings(project_text: &str, manifest_text: &str) -> Settings {
    resolve(None, &project(project_text), Some(&project(manifest_text)), Escalation::Clamped)
}

fn spec(text: &str) -> AgentSpec {
    AgentSpec::parse(text).unwrap()
}

/// Every word is spelled as serde spells it.
#[track_caller]
fn spelled_as_serialized<T: Word + Serialize>() {
    for (word, value) in T::WORDS {
        assert_eq!(serde_json::to_value(value).unwrap(), *word);
    }
}

#[test]
fn words_and_json_agree() {
    spelled_as_serialized::<GateMode>();
    spelled_as_serialized::<Strategy>();
    spelled_as_serialized::<ProofPolicy>();
    spelled_as_serialized::<Locus>();
    spelled_as_serialized::<PrGrouping>();
    spelled_as_serialized::<Scope>();
    spelled_as_serialized::<crate::permission::Posture>();
}

// B-C01 B-C04 B-C26 B-C30
#[test]
fn without_any_layer_everything_is_default() {
    let resolved = resolve(None, &Layer::default(), None, Escalation::Clamped);
    assert_eq!(resolved.gate, GateMode::Voluntary);
    assert_eq!(resolved.locus, Locus::Local);
    assert_eq!(resolved.pr_grouping, PrGrouping::Off);
    assert_eq!(agent_timeout_ms(None, resolved.agent_timeout_ms), None);
    assert!(Key::ALL.iter().all(|key| resolved.sources[key.as_str()] == Scope::Default));
    let shown = resolved.to_json();
    let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["gate", "locus", "permissions", "proofOfWork", "strategy"]);
    let policy = serde_json::json!({"posture": "repo-sandboxed-permissive", "allow": [], "deny": [], "raw": {}});
    assert_eq!(shown["permissions"], policy);
}

// B-C02 B-C03 B-C05 B-C06 B-C07 B-C19
#[test]
fn the_manifest_wins_over_the_project_key_by_key() {
    let resolved = settings(
        "{gate: every-phase, locus: docker, image: a, host: h, authToken: t1, proofOfWork: warn}",
        "{gate: autonomous, image: b, port: 8443, authToken: t2, agentTimeoutMs: 90000}",
    );
    assert_eq!(
        (resolved.gate, resolved.source(Key::Gate)),
        (GateMode::Autonomous, Scope::Manifest)
    );
    assert_eq!((resolved.locus, resolved.source(Key::Locus)), (Locus::Docker, Scope::Project));
    assert_eq!(
        (resolved.image.as_deref(), resolved.source(Key::Image)),
        (Some("b"), Scope::Manifest)
    );
    assert_eq!(resolved.host.as_deref(), Some("h"));
    assert_eq!(resolved.proof_policy, ProofPolicy::Warn);
    assert_eq!(resolved.auth_token.unwrap().expose_secret(), "t2");
    assert_eq!(resolved.sources["agentTimeoutMs"], Scope::Manifest);
}

#[test]
fn every_key_can_be_read_and_shown() {
    let text = "{gate: voluntary, strategy: feature, proofOfWork: warn, locus: docker, prGrouping: per-phase, agent: \
                claude, image: i, dockerUser: '1000:1000', dockerMemory: 4g, dockerPidsLimit: 9, dockerCpus: 1.5, \
                network: none, dockerReadOnly: true, dockerPull: always, dockerAgentSandbox: container, host: h, port: 8443, authToken: s3cret, insecure: true, agentTimeoutMs: 1, \
                authTokenFile: /t, tlsCa: /ca, workers: [{host: w, port: 1, authToken: s3cret, labels: {gpu: none}, capacity: 2}], \
                workerLostMs: 9, proofLocus: remote, \
                agentStartTimeoutMs: 2, agentIdleTimeoutMs: 3, agentOutputLimitBytes: 4, proofTimeoutMs: 5, budgetUsd: 2.5, budgetTokens: 7, \
                permissions: {}, agents: {claude: {command: c, args: [--token, abc], env: {KEY: s3cret}}}, \
                requireOverrideFlag: true}";
    let resolved = resolve(None, &project(text), None, Escalation::Clamped);
    let shown = resolved.to_json();
    for key in Key::ALL {
        assert_eq!(Key::parse(key.as_str()), Some(key));
        assert!(shown.get(key.as_str()).is_some(), "{key:?}");
        let source = if key == Key::Permissions { Scope::Default } else { Scope::Project };
        assert_eq!(resolved.source(key), source, "{key:?}");
    }
    assert_eq!(shown["port"], 8443);
    assert_eq!(shown["dockerCpus"], 1.5);
    let worker = serde_json::json!(
        [{"host": "w", "port": 1, "authToken": "***", "labels": {"gpu": "none"}, "capacity": 2}]
    );
    assert_eq!(shown["workers"], worker);
    let claude = serde_json::json!({"command": "c", "args": ["--token", "***"], "env": ["KEY"]});
    assert_eq!(shown["agents"]["claude"], claude);
}

// B-C23 B-C24 B-C25
#[test]
fn no_secret_is_ever_shown() {
    let resolved = settings(
        "{authToken: s3cret, agents: {x: {env: {A: s3cret}}}, permissions: {raw: {codex: [--key, s3cret]}}}",
        "{}",
    );
    let shown = format!("{}{resolved:?}", resolved.to_json());
    assert_eq!(resolved.to_json()["authToken"], "***");
    assert_eq!(resolved.permissions.raw.values().next().unwrap()[1], "s3cret");
    let hidden = shown.replace(&format!("{:?}", resolved.permissions), "");
    assert!(!hidden.contains("s3cret"), "{hidden}");
    assert_eq!(settings("{}", "{}").shown(Key::AuthToken), None);
}

#[test]
fn a_bad_key_of_the_project_is_dropped_with_a_warning_and_its_siblings_stay() {
    let text = "gate: loud\nstrategy: feature\nagentTimeoutMs: 1.5\nauthToken: [s3cret]\nagent: {apply: 7, verify: a}\n\
                later: 1\ndockerPidsLimit: 0\ninsecure: 'true'\nagents: {claude: {env: {'A=B': x, C: 7}}}\n";
    let (layer, issues) = Layer::from_project(&yaml::parse(text).unwrap());
    let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "batch.gate",
            "batch.agentTimeoutMs",
            "batch.authToken",
            "batch.agent.apply",
            "batch.dockerPidsLimit",
            "batch.insecure",
            "batch.agents.claude.env.A=B",
            "batch.agents.claude.env.C",
        ]
    );
    assert_eq!((layer.gate, layer.strategy), (None, Some(Strategy::Feature)));
    assert_eq!((layer.agent, layer.insecure, layer.agents.len()), (None, None, 0));
    let texts: String = issues.iter().map(ToString::to_string).collect();
    assert!(texts.contains("'loud'") && texts.contains("1.5"), "{texts}");
    assert!(!texts.contains("s3cret"), "{texts}");
    assert_eq!(issues[0].line, Some(1));
    assert_eq!(Layer::from_project(&yaml::parse("[a]").unwrap()).1[0].path, "batch");
    assert_eq!(Layer::from_project(&yaml::parse("").unwrap()).1, []);
}

// B-C31 B-C32
#[test]
fn every_grouping_is_a_word() {
    for word in ["off", "whole-batch", "per-phase", "per-change"] {
        let resolved = settings("{}", &format!("{{prGrouping: {word}}}"));
        assert_eq!(resolved.pr_grouping.as_str(), word);
        assert_eq!(
            settings(&format!("{{prGrouping: {word}}}"), "{}").pr_grouping,
            resolved.pr_grouping
        );
    }
    assert_eq!(Layer::from_project(&yaml::parse("prGrouping: some").unwrap()).1.len(), 1);
}

// B-C27 B-C28 B-C29
#[test]
fn a_time_limit_from_the_environment_wins_if_it_is_one() {
    assert_eq!(agent_timeout_ms(Some(" 5000 "), Some(7)), Some(5000));
    assert_eq!(agent_timeout_ms(Some("5000"), None), Some(5000));
    for nonsense in ["0", "-1", "soon", "", "1.5", "5s"] {
        assert_eq!(agent_timeout_ms(Some(nonsense), Some(7)), Some(7), "{nonsense}");
        assert_eq!(agent_timeout_ms(Some(nonsense), None), None, "{nonsense}");
    }
}

// B-C20 B-C21 B-C22
#[test]
fn a_remote_locus_is_told_all_that_it_lacks() {
    assert!(settings("{locus: docker}", "{}").check_remote().is_ok());
    assert!(
        settings("{locus: remote, host: h, port: 1, authToken: t}", "{}").check_remote().is_ok()
    );
    let lacking =
        settings("{locus: remote, host: ' ', port: -0.5, authToken: s3cret}", "{}").check_remote();
    let text = lacking.unwrap_err().to_string();
    assert!(text.contains("needs host, port:") && text.contains("batch config --set"), "{text}");
    assert!(!text.contains("s3cret"));
    let all = settings("{locus: remote}", "{}").check_remote().unwrap_err();
    assert_eq!(all.missing, ["host", "port", "authToken"]);
}

#[test]
fn the_walls_of_each_locus_are_named() {
    let of = |text: &str| settings(text, "{}").isolation().description;
    assert!(of("{}").contains("advisory"));
    let docker = of("{locus: docker}");
    for word in [
        "container isolation",
        "uid host uid:gid",
        "memory 2g",
        "pids 512",
        "network bridge",
        "writable",
        "no capabilities",
        "no new privileges",
    ] {
        assert!(docker.contains(word), "{docker}");
    }
    assert!(!docker.contains("cpus"));
    let docker = of(
        "{locus: docker, dockerUser: '1:2', dockerMemory: 8g, dockerPidsLimit: 7, network: none, dockerCpus: 1.5}",
    );
    for word in ["uid 1:2", "memory 8g", "pids 7", "network none", "cpus 1.5"] {
        assert!(docker.contains(word), "{docker}");
    }
    for word in ["read-only root", "full access"] {
        assert!(!docker.contains(word), "{docker}");
        assert!(
            of("{locus: docker, dockerReadOnly: true, dockerAgentSandbox: container}")
                .contains(word)
        );
    }
    assert!(of("{locus: remote}").contains("not enforced by ratchet"));
}

// B-D04 B-D05 B-D06
#[test]
fn a_spec_is_divided_at_its_first_colon() {
    for (text, agent, model) in [
        ("claude", "claude", None),
        ("claude:fable", "claude", Some("fable")),
        ("opencode:zai/glm-5.2", "opencode", Some("zai/glm-5.2")),
        ("codex:vendor:tagged-1", "codex", Some("vendor:tagged-1")),
    ] {
        let parsed = spec(text);
        assert_eq!((parsed.agent.as_str(), parsed.model.as_deref()), (agent, model));
        assert_eq!(parsed.to_string(), text);
    }
    for (text, word) in [
        ("", "agent part is empty"),
        (":", "agent part is empty"),
        (":m", "agent part is empty"),
        ("claude:", "model part is empty"),
        ("claude: opus", "\" opus\""),
        ("claude :m", "\"claude \""),
        (" claude", "\" claude\""),
        ("claude: ", "\" \""),
        ("claude:-flag", "\"-flag\""),
    ] {
        let error = AgentSpec::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("Invalid agent spec \"{text}\":")), "{error}");
        assert!(error.contains(word) && error.ends_with("(expected \"agent[:model]\")"), "{error}");
    }
}

// B-D01 B-D02 B-D03 B-D07
#[test]
fn an_agent_is_a_spec_or_a_map_of_stages() {
    assert_eq!(project("agent: claude").agent, Some(AgentChoice::Every(spec("claude"))));
    let all = "agent: {propose: a, apply: b, verify: c, pr: d, decompose: e}";
    let Some(AgentChoice::ByStage(stages)) = project(all).agent else { panic!("a map") };
    assert_eq!(stages.len(), 5);
    assert_eq!(project("agent: {}").agent, Some(AgentChoice::ByStage(BTreeMap::new())));
    for (text, path) in [
        ("agent: {test: a}", "batch.agent.test"),
        ("agent: {apply: [a]}", "batch.agent.apply"),
        ("agent: {apply: 'a:'}", "batch.agent.apply"),
        ("agent: 'a:'", "batch.agent"),
        ("agent: 7", "batch.agent"),
    ] {
        let (layer, issues) = Layer::from_project(&yaml::parse(text).unwrap());
        assert_eq!((layer.agent, issues.len(), issues[0].path.as_str()), (None, 1, path));
    }
}

/// What each stage gets, and from whom: `claude@project`, or `-`.
fn stages(project_agent: &str, manifest_agent: &str) -> String {
    let layer =
        |agent: &str| if agent.is_empty() { "{}".to_owned() } else { format!("agent: {agent}") };
    let resolved = settings(&layer(project_agent), &layer(manifest_agent));
    let shown =
        [StepKind::Propose, StepKind::Apply, StepKind::Verify].map(|stage| {
            match resolved.agent.as_ref().and_then(|choice| choice.of(stage)) {
                Some(spec) => format!("{spec}@{}", resolved.agent_stage_scopes[&stage].as_str()),
                None => {
                    assert!(!resolved.agent_stage_scopes.contains_key(&stage));
                    "-".to_owned()
                }
            }
        });
    shown.join(" ")
}

// B-D08 B-D09 B-D10 B-D11 B-D12 B-D13
#[test]
fn the_agents_of_the_scopes_are_merged_stage_by_stage() {
    for (project, manifest, expected) in [
        ("", "", "- - -"),
        ("claude", "", "claude@project claude@project claude@project"),
        ("claude", "{apply: opencode}", "claude@project opencode@manifest claude@project"),
        (
            "{propose: claude, apply: claude}",
            "{apply: opencode}",
            "claude@project opencode@manifest -",
        ),
        ("{apply: opencode}", "codex", "codex@manifest codex@manifest codex@manifest"),
        ("{apply: 'a:m'}", "{apply: b}", "- b@manifest -"),
        ("claude", "{}", "claude@project claude@project claude@project"),
        ("{}", "", "- - -"),
    ] {
        assert_eq!(stages(project, manifest), expected, "{project} / {manifest}");
    }
    assert_eq!(settings("agent: a", "agent: {}").source(Key::Agent), Scope::Manifest);
}

#[track_caller]
fn set(text: &str) -> Assignment {
    parse_assignment(text).unwrap()
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(parse_assignment(text).unwrap_err().to_string(), expected);
}

// B-C08 B-C09 B-C11 B-C12 B-C13 B-C14 B-C17
#[test]
fn what_cannot_be_set_is_told_what_can() {
    let positive = "it must be a positive integer";
    refused("gate", "Invalid --set 'gate'. Expected key=value.");
    refused(
        "gate=loud",
        "Invalid value 'loud' for 'gate'. Allowed values: voluntary, after-propose, every-phase, autonomous",
    );
    refused(
        "locus=moon",
        "Invalid value 'moon' for 'locus'. Allowed values: local, docker, remote",
    );
    refused("insecure=yes", "Invalid value 'yes' for 'insecure'. Allowed values: true, false");
    for value in ["0", "-5", "1.5", "+5", "", "eight", "99999999999999999999"] {
        refused(
            &format!("port={value}"),
            &format!("Invalid value for 'port': {positive} (got '{value}')."),
        );
    }
    refused(
        "agentIdleTimeoutMs=x",
        &format!("Invalid value for 'agentIdleTimeoutMs': {positive} (got 'x')."),
    );
    refused(
        "dockerCpus=0",
        "Invalid value for 'dockerCpus': it must be a positive number (got '0').",
    );
    refused(
        "dockerMemory=2t",
        "Invalid value for 'dockerMemory': it must be a number with b, k, m or g, at least 6m, such as 2g (got '2t').",
    );
    refused(
        "dockerUser=root",
        "Invalid value for 'dockerUser': it must be uid or uid:gid in numbers, such as 1000:1000 (got 'root').",
    );
    refused(
        "dockerPull=often",
        "Invalid value 'often' for 'dockerPull'. Allowed values: missing, always, never",
    );
    refused(
        "image=  ",
        "Invalid value for 'image': the container image reference must not be empty.",
    );
    refused("host=", "Invalid value for 'host': the remote host must not be empty.");
    refused("authToken=", "Invalid value for 'authToken': the token must not be empty.");
    let unknown = parse_assignment("colour=red").unwrap_err().to_string();
    assert!(
        unknown.starts_with(
            "Unknown batch setting 'colour'. Allowed keys: gate, strategy, proofOfWork,"
        ),
        "{unknown}"
    );
    assert!(matches!(parse_assignment("permissions={}"), Err(SetError::UnknownKey { .. })));
    assert!(!parse_assignment("authToken s3cret").unwrap_err().to_string().contains("s3cret"));
}

// B-C10 B-C18
#[test]
fn what_is_set_has_the_type_of_the_file() {
    assert!(
        matches!(set(" gate = autonomous ").value, Assigned::Text(text) if text == "autonomous")
    );
    assert!(matches!(set("agentTimeoutMs=0090").value, Assigned::Integer(90)));
    assert!(matches!(set("dockerCpus=1.5").value, Assigned::Number(1.5)));
    assert!(matches!(set("insecure=true").value, Assigned::Bool(true)));
    assert!(matches!(set("host=a=b").value, Assigned::Text(text) if text == "a=b"));
    assert!(matches!(set("agent=robot:m").value, Assigned::Text(text) if text == "robot:m"));
    assert_eq!(set("agentTimeoutMs=90000").shown, "90000");
    let token = set("authToken=s3cret");
    assert!(matches!(&token.value, Assigned::Secret(secret) if secret.expose_secret() == "s3cret"));
    assert_eq!(token.shown, "***");
    assert!(!format!("{token:?}").contains("s3cret"));
}

// B-D23
#[test]
fn an_agent_is_set_as_a_spec_or_as_a_flow_map() {
    let Assigned::Stages(stages) = set("agent={apply: codex, pr: 'a:m'}").value else {
        panic!("a map")
    };
    assert_eq!(stages[&StepKind::Pr], spec("a:m"));
    let error = |text: &str| parse_assignment(text).unwrap_err().to_string();
    assert!(
        error("agent=a:")
            .starts_with("Invalid value for 'agent': agent: Invalid agent spec \"a:\":")
    );
    let two = error("agent={apply: 'a:', test: b}");
    assert!(two.starts_with("Invalid value for 'agent': agent.apply: Invalid agent spec"), "{two}");
    assert!(two.contains("; agent.test: unknown key 'test'"), "{two}");
    assert!(error("agent={apply: codex").contains("valid YAML flow map"));
    assert!(error("agent={apply: codex}: x").contains("agent"));
}

#[test]
fn flags_of_a_standalone_verb_pass_the_same_check() {
    let base = || settings("{agent: claude, locus: docker}", "{}");
    let flags = |agent: Option<&str>, locus: Option<&str>, image: Option<&str>| {
        let own = |flag: Option<&str>| flag.map(str::to_owned);
        base().with_flags(&StandaloneFlags {
            agent: own(agent),
            locus: own(locus),
            image: own(image),
        })
    };
    let laid_over = flags(Some("{apply: codex}"), Some("local"), Some("i")).unwrap();
    assert_eq!(laid_over.agent.as_ref().unwrap().of(StepKind::Apply), Some(&spec("codex")));
    assert_eq!((laid_over.locus, laid_over.image.as_deref()), (Locus::Local, Some("i")));
    assert!(laid_over.agent_stage_scopes.is_empty());
    assert_eq!(
        flags(Some("a:m"), None, None).unwrap().agent,
        Some(AgentChoice::Every(spec("a:m")))
    );
    let untouched = flags(None, None, None).unwrap();
    assert_eq!(
        (untouched.locus, untouched.agent),
        (Locus::Docker, Some(AgentChoice::Every(spec("claude"))))
    );
    let error = flags(None, Some("moon"), Some("")).unwrap_err().to_string();
    assert_eq!(error, "Invalid value 'moon' for 'locus'. Allowed values: local, docker, remote");
}

#[test]
fn a_manifest_cannot_take_an_agents_own_sandbox_away() {
    let manifest = "name: b\nsettings: {dockerAgentSandbox: container}\nphases: []\n";
    let error = crate::manifest::parse(manifest).unwrap_err().to_string();
    assert!(
        error.contains("dockerAgentSandbox") && error.contains(".ratchet/config.yaml"),
        "{error}"
    );
}

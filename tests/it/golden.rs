//! What people read, word for word: each test is a session at the terminal, kept beside this file as it was printed.
//!
//! Paths, times, ids and process numbers are replaced, so that a session reads the same everywhere.

use ratchet_tests::asked::Kind;
use ratchet_tests::{Action, Call, Manifest, Phase, Script, TestEnv};

use crate::{empty, shop, with};

/// A session: commands and what they printed.
struct Session<'e> {
    env: &'e TestEnv,
    text: String,
}

impl<'e> Session<'e> {
    fn new(env: &'e TestEnv) -> Self {
        Self { env, text: String::new() }
    }

    /// Types a command.
    fn types(&mut self, line: &str) {
        self.notes(line, self.call(line));
    }

    /// Types a command that starts an agent; this script stands in for it.
    fn types_with(&mut self, script: &Script, line: &str) {
        self.notes(line, self.call(line).agent(&self.env.agent(script)));
    }

    fn call(&self, line: &str) -> Call {
        self.env.ratchet(line.split(' '))
    }

    fn notes(&mut self, line: &str, call: Call) {
        let finished = call.run();
        let code = finished.code.map_or("a signal".to_owned(), |code| code.to_string());
        let streams = [("", finished.stdout()), ("--- stderr\n", finished.stderr())];
        self.text += &format!("$ ratchet {line}\n");
        for (title, printed) in streams.iter().filter(|(_, printed)| !printed.is_empty()) {
            self.text += title;
            self.text += printed;
        }
        if code != "0" {
            self.text += &format!("--- exit {code}\n");
        }
        self.text.push('\n');
    }

    /// Holds the session against the one that is kept under this name.
    #[track_caller]
    fn is(self, name: &str) {
        let text = self.text.replace(&self.env.base().display().to_string(), "<world>");
        insta::with_settings!({
            filters => [
                (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<spawn>"),
                (r"\d{4}-\d{2}-\d{2}T[0-9:.]+Z", "<time>"),
                (r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?", "<time>"),
                (r"\d{4}-\d{2}-\d{2}", "<date>"),
                (r"\b(pid|process) \d+", "$1 <pid>"),
                (r"\b\d+(\.\d+)? ?(ms|s)\b", "<duration>"),
            ],
            omit_expression => true,
            prepend_module_to_snapshot => false,
        }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

/// Two phases: `first` and then `second` behind it; the proof of the first is given.
fn two_phases() -> TestEnv {
    with(
        &Manifest::new("shop")
            .phase(
                Phase::new("base")
                    .proof("cat result", "contains:3 passed")
                    .change("first")
                    .change_after("second", &["first"]),
            )
            .phase(Phase::new("top").change("third")),
    )
}

fn asks() -> Script {
    Script::always([
        Action::ReadPrompt,
        Action::say("looking at the tables"),
        Action::blocker("Which table holds the prices?"),
    ])
}

// B-V14
#[test]
fn a_batch_before_in_and_after_its_work() {
    let env = two_phases();
    env.write("result", "4 run, 3 passed\n");
    let mut session = Session::new(&env);
    session.types("batch status");
    session.types("batch view shop");
    session.types_with(&Script::honest(), "batch apply");
    session.types_with(&asks(), "batch apply");
    session.types("batch status");
    session.types("batch view");
    session.types("batch list");
    session.types("batch report --change first --answer prices.tsv");
    session.types("batch status");
    session.types_with(&Script::honest(), "batch run");
    session.types("batch status");
    session.types("batch view");
    session.types_with(&Script::honest(), "batch apply");
    session.is("a_batch_before_in_and_after_its_work");
}

#[test]
fn steps_that_do_not_advance() {
    let env = shop();
    let mut session = Session::new(&env);
    session.types_with(&Script::always([Action::say("oh no"), Action::exit(3)]), "batch apply");
    session.types_with(&Script::honest(), "batch apply");
    session.types("batch report --change add-api --answer again");
    let killed = Action::DieBy { signal: "KILL".to_owned() };
    session.types_with(&Script::always([killed]), "batch apply");
    session.types("batch report --change add-api --answer again");
    let lies = Script::always([Action::ReadPrompt, Action::complete("all planned")]);
    session.types_with(&lies, "batch apply");
    session.types("batch status");
    session.is("steps_that_do_not_advance");
}

#[test]
fn an_approval_and_a_rejection() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: after-propose"));
    let mut session = Session::new(&env);
    session.types_with(&Script::honest(), "batch apply");
    session.types("batch status");
    session.types_with(&Script::honest(), "batch apply");
    session.types("batch report --change add-api --reject smaller");
    session.types("batch status");
    session.types_with(&Script::honest(), "batch apply");
    session.types_with(&Script::honest(), "batch run --max-steps 1");
    session.is("an_approval_and_a_rejection");
}

#[test]
fn proofs_that_fail_pass_and_run_again() {
    let env = with(
        &Manifest::new("shop")
            .phase(Phase::new("base").proof("cat result", "contains:3 passed").change("first")),
    );
    env.add_done("shop", "first");
    env.write("result", "4 run, 2 passed\n");
    let mut session = Session::new(&env);
    session.types("batch apply");
    session.types("batch status");
    session.types("batch apply");
    env.write("result", "4 run, 3 passed\n");
    session.types("batch rerun-proof --phase base");
    session.types("batch rerun-proof --phase base");
    session.types("batch apply");
    session.types("batch status");
    session.types("batch archive shop");
    session.types("batch list");
    session.is("proofs_that_fail_pass_and_run_again");
}

#[test]
fn settings_and_where_they_come_from() {
    let env = with(&Manifest::of_changes("shop", &["add-api"]).setting("gate: autonomous"));
    let mut session = Session::new(&env);
    session.types("batch config");
    session.types("batch config --set strategy=feature");
    session.types("batch config --set agent=codex:some/model");
    session.types("batch config --set authToken=s3cr3t-s3cr3t");
    session.types("batch config shop");
    session.types("batch config --set gate=sometimes");
    session.types("batch config --set colour=red");
    session.is("settings_and_where_they_come_from");
}

#[test]
fn batches_are_made_checked_and_listed() {
    let env = empty();
    let mut session = Session::new(&env);
    session.types("batch list");
    session.types("new batch shop");
    session.types("new batch shop");
    session.types("new batch Shop!");
    session.types("validate shop");
    session.types("batch status");
    env.write(
        ".ratchet/batches/broken/batch.yaml",
        "name: broken\nphases:\n  - name: p1\n    goal: g\n    proofOfWork: {kind: magic, run: x, pass: y}\n    changes:\n      - name: a\n",
    );
    session.types("validate broken");
    session.types("batch list");
    session.types("batch status broken");
    session.is("batches_are_made_checked_and_listed");
}

#[test]
fn a_change_of_its_own() {
    let env = empty();
    let mut session = Session::new(&env);
    session.types_with(&Script::honest(), "propose cart");
    session.types_with(&Script::honest(), "propose cart");
    session.types_with(&Script::honest(), "verify cart");
    session.types_with(&Script::honest(), "apply cart");
    session.types_with(&Script::honest(), "verify cart");
    session.types_with(&Script::honest(), "apply gone");
    session.types("report cart --status resting");
    session.is("a_change_of_its_own");
}

#[test]
fn every_step_is_in_the_log() {
    let env = shop();
    let mut session = Session::new(&env);
    session.types("batch log");
    session.types_with(&asks(), "batch apply");
    session.types("batch log --last");
    session.types("batch cancel");
    session.is("every_step_is_in_the_log");
}

#[test]
fn mistakes_are_told_with_the_way_out() {
    let env = shop();
    env.add_batch(&Manifest::of_changes("other", &["else"]));
    env.add_batch(
        &Manifest::new("round")
            .phase(Phase::new("p1").change_after("one", &["two"]).change_after("two", &["one"])),
    );
    let mut session = Session::new(&env);
    for line in [
        "batch status",
        "batch status gone",
        "batch status ../up",
        "batch status round",
        "batch apply round",
        "batch report shop --change add-api",
        "batch report shop --status hello",
        "batch report shop --change add-api --status one --blocker two",
        "batch report shop --change add-api --answer yes",
        "batch report shop --change gone --status hello",
        "batch approve shop --change add-api",
        "batch rerun-proof shop",
        "batch rerun-proof shop --phase gone",
        "batch stats",
        "batch status --yaml",
        "report gone --status hello",
        "template gone",
    ] {
        session.types(line);
    }
    session.is("mistakes_are_told_with_the_way_out");
}

#[test]
fn a_decomposition_and_a_pull_request() {
    let env =
        with(&Manifest::new("shop").setting("prGrouping: whole-batch").phase(Phase::new("base")));
    let mut session = Session::new(&env);
    session.types("batch status");
    let edit = "sed -i 's/^    changes: \\[\\]$/    changes: [{name: found, done: it works}]/' \
                .ratchet/batches/shop/batch.yaml";
    let decomposes = Script::honest().on(
        Kind::Decompose,
        [Action::ReadPrompt, Action::run(edit), Action::complete("one change found")],
    );
    session.types_with(&decomposes, "batch run");
    session.types("batch status");
    session.is("a_decomposition_and_a_pull_request");
}

#[test]
fn the_help() {
    let env = empty();
    let mut session = Session::new(&env);
    for line in ["--help", "batch --help", "batch apply --help", "batch report --help"] {
        session.types(line);
    }
    session.is("the_help");
}

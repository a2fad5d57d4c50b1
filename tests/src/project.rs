//! Batch manifests for tests, built in a line and written as a person would write them.

use std::fmt::Write as _;

/// A `batch.yaml` in the making.
#[derive(Debug, Clone)]
pub struct Manifest {
    name: String,
    settings: Vec<String>,
    phases: Vec<Phase>,
}

/// One phase of it.
#[derive(Debug, Clone)]
pub struct Phase {
    name: String,
    run: String,
    pass: String,
    changes: Vec<(String, Vec<String>)>,
}

impl Manifest {
    /// A batch without phases.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), settings: Vec::new(), phases: Vec::new() }
    }

    /// One phase `p1` with these changes and a proof that passes.
    pub fn of_changes(name: &str, changes: &[&str]) -> Self {
        Self::new(name)
            .phase(changes.iter().fold(Phase::new("p1"), |phase, change| phase.change(change)))
    }

    /// Adds a line below `settings:`.
    #[must_use]
    pub fn setting(mut self, line: &str) -> Self {
        self.settings.push(line.to_owned());
        self
    }

    /// Adds a phase.
    #[must_use]
    pub fn phase(mut self, phase: Phase) -> Self {
        self.phases.push(phase);
        self
    }

    /// The batch's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text of the file.
    pub fn to_yaml(&self) -> String {
        let mut text = format!("name: {}\n", self.name);
        if !self.settings.is_empty() {
            text.push_str("settings:\n");
            for line in &self.settings {
                let _infallible = writeln!(text, "  {line}");
            }
        }
        text.push_str(if self.phases.is_empty() { "phases: []\n" } else { "phases:\n" });
        for phase in &self.phases {
            phase.write_to(&mut text);
        }
        text
    }
}

impl Phase {
    /// A phase without changes whose proof passes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            run: "true".to_owned(),
            pass: "exit code 0".to_owned(),
            changes: Vec::new(),
        }
    }

    /// Proves itself with this command and condition.
    #[must_use]
    pub fn proof(mut self, run: &str, pass: &str) -> Self {
        (self.run, self.pass) = (run.to_owned(), pass.to_owned());
        self
    }

    /// Adds a change.
    #[must_use]
    pub fn change(self, name: &str) -> Self {
        self.change_after(name, &[])
    }

    /// Adds a change that waits for others.
    #[must_use]
    pub fn change_after(mut self, name: &str, after: &[&str]) -> Self {
        self.changes.push((name.to_owned(), after.iter().map(|&other| other.to_owned()).collect()));
        self
    }

    fn write_to(&self, text: &mut String) {
        let quoted = |word: &str| {
            serde_json::to_string(word).expect("a text is JSON, and JSON text is YAML")
        };
        let mut line = |words: String| {
            text.push_str(&words);
            text.push('\n');
        };
        line(format!("  - name: {}", self.name));
        line(format!("    goal: reach {}", self.name));
        line(format!("    success: {} is reached", self.name));
        line("    proofOfWork:".to_owned());
        line("      kind: integration".to_owned());
        line(format!("      run: {}", quoted(&self.run)));
        line(format!("      pass: {}", quoted(&self.pass)));
        line(format!("    changes:{}", if self.changes.is_empty() { " []" } else { "" }));
        for (name, after) in &self.changes {
            line(format!("      - name: {name}"));
            line(format!("        done: {name} works"));
            if !after.is_empty() {
                line(format!("        after: [{}]", after.join(", ")));
            }
        }
    }
}

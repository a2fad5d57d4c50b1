//! Permission lists as a policy file of Gemini CLI, which has no flags for them.
//!
//! The lists are written in Claude Code's pattern language. A pattern is translated only where the result is not wider:
//! a denial may come out broader than asked, an allowance never. The rest is returned as inexpressible.

use std::fmt::Write as _;

/// A policy file, and what did not fit into it.
pub(super) struct Policy {
    /// The file; empty if there is nothing to say.
    pub(super) text: String,
    /// Patterns that could not be translated.
    pub(super) inexpressible: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Decision {
    Allow,
    Deny,
}

/// Translates both lists; a denial beats an allowance.
pub(super) fn render(allow: &[String], deny: &[String]) -> Policy {
    let mut policy = Policy { text: String::new(), inexpressible: Vec::new() };
    let allow = allow.iter().map(|item| (item, Decision::Allow));
    let deny = deny.iter().map(|item| (item, Decision::Deny));
    for (item, decision) in allow.chain(deny) {
        match rule(item, decision) {
            Some(rule) => policy.text.push_str(&rule),
            None => policy.inexpressible.push(item.clone()),
        }
    }
    policy
}

fn rule(item: &str, decision: Decision) -> Option<String> {
    let (tool, argument) = match item.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
        None => (item, None),
    };
    let condition = match (tool, argument) {
        ("Bash", Some(pattern)) => Some(shell_condition(pattern, decision)?),
        (_, Some(_)) => return None,
        (_, None) => None,
    };
    let (verb, priority) = match decision {
        Decision::Allow => ("allow", 100),
        Decision::Deny => ("deny", 200),
    };
    let mut text = String::new();
    for name in tool_names(tool)? {
        let condition = condition.as_deref().unwrap_or("");
        writeln!(
            text,
            "[[rule]]\ntoolName = {}\n{condition}decision = \"{verb}\"\npriority = {priority}\n",
            quoted(name)
        )
        .expect("writing to a String cannot fail");
    }
    Some(text)
}

fn shell_condition(pattern: &str, decision: Decision) -> Option<String> {
    let open_end = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix('*'));
    let prefix = open_end.unwrap_or(pattern).trim_end();
    if !prefix.is_empty()
        && !prefix.contains('*')
        && (open_end.is_some() || decision == Decision::Deny)
    {
        return Some(format!("commandPrefix = {}\n", quoted(prefix)));
    }
    // Only a denial: what `.*` lets through is more than an allowance may give away.
    (decision == Decision::Deny)
        .then(|| format!("commandRegex = {}\n", quoted(&as_regex(open_end.unwrap_or(pattern)))))
}

fn as_regex(pattern: &str) -> String {
    let mut regex = String::new();
    for c in pattern.chars() {
        match c {
            '*' => regex.push_str(".*"),
            c if c.is_ascii_punctuation() && c != '/' && c != '-' && c != '_' => {
                regex.push('\\');
                regex.push(c);
            }
            c => regex.push(c),
        }
    }
    regex
}

/// A tool's names in Gemini CLI; a name that is unknown here may be one of its own.
fn tool_names(tool: &str) -> Option<Vec<&str>> {
    Some(match tool {
        "Bash" => vec!["run_shell_command"],
        "Read" => vec!["read_file", "read_many_files"],
        "Edit" | "MultiEdit" => vec!["replace"],
        "Write" => vec!["write_file"],
        "Grep" => vec!["search_file_content", "grep_search"],
        "Glob" => vec!["glob"],
        "WebFetch" => vec!["web_fetch"],
        "WebSearch" => vec!["google_web_search"],
        own if !own.is_empty() && own.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') => {
            vec![own]
        }
        _ => return None,
    })
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).expect("writing to a String cannot fail");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_denial_beats_an_allowance() {
        let policy = render(&list(&["Bash"]), &list(&["Bash(rm -rf *)"]));
        let expected = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"allow\"\npriority = 100\n\n\
                        [[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm -rf\"\n\
                        decision = \"deny\"\npriority = 200\n\n";
        assert_eq!(policy.text, expected);
        assert!(policy.inexpressible.is_empty());
    }

    #[test]
    fn an_allowance_never_comes_out_wider() {
        let allow =
            list(&["Bash(npm test)", "Bash(git * push)", "Edit(src/**)", "we ird", "Bash(x"]);
        let policy = render(&allow, &[]);
        assert_eq!(policy.text, "");
        assert_eq!(policy.inexpressible, allow);
        assert!(
            render(&list(&["Bash(npm run:*)"]), &[]).text.contains("commandPrefix = \"npm run\"")
        );
    }

    #[test]
    fn a_denial_with_a_hole_becomes_an_expression() {
        let policy = render(&[], &list(&["Bash(curl * | sh)", "Bash(* > /*)", "Bash(a.b)"]));
        assert!(policy.text.contains(r#"commandRegex = "curl .* \\| sh""#), "{}", policy.text);
        assert!(policy.text.contains(r#"commandRegex = ".* \\> /""#), "{}", policy.text);
        assert!(policy.text.contains(r#"commandPrefix = "a.b""#), "{}", policy.text);
    }

    #[test]
    fn text_cannot_break_out_of_its_quotes() {
        let policy = render(&list(&["Bash(a\"\ndecision = \"x *)"]), &[]);
        assert!(
            policy.text.contains(r#"commandPrefix = "a\"\u000Adecision = \"x""#),
            "{}",
            policy.text
        );
    }
}

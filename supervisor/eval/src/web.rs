//! A case that a browser judges: the application is started, waited for, looked at with Playwright, and stopped whatever
//! came of it (spec `eval` 5.3).

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::binding::Readiness;
use crate::call::{CannotRun, Command, Ran, Shell as _};
use crate::fixture::ONE_HOUR_MS;
use crate::harness::Patience;
use crate::jury::Clause;
use crate::place::Place;
use crate::record::WebArtifacts;
use crate::run_id::RunId;
use crate::shim::Bash;

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) start: &'a str,
    pub(crate) readiness: &'a Readiness,
    pub(crate) timeout_ms: u64,
    pub(crate) spec: &'a str,
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Seen {
    spec: String,
    end: Visit,
    trace: Option<PathBuf>,
    screenshot: Option<PathBuf>,
}

#[derive(Debug)]
enum Visit {
    /// The specification was run.
    Ran(Ran),
    /// The application was not ready in time, in milliseconds, and nothing was run.
    NotReady(u64),
}

/// Between two looks whether it is ready: nothing tells.
const PAUSE: Duration = Duration::from_millis(250);
/// How long one look may take.
const LOOK: Duration = Duration::from_secs(5);
/// Where Playwright writes what it found.
const REPORT: &str = ".ratchet-web-report.json";

/// Looks at an application in a copy of its sample.
pub(crate) fn look(
    bash: &Bash<'_>,
    site: &Site<'_>,
    cwd: &Path,
    patience: &Patience,
) -> Result<Seen, CannotRun> {
    let limits = patience.oracle(ONE_HOUR_MS);
    // What an application prints is nobody's business here, but it must not block.
    let quiet = format!("exec >/dev/null 2>&1\n{}", site.start);
    let start = Command { script: &quiet, cwd, limits };
    let end = bash.during(&start, |_over| visit(bash, site, cwd, patience))??;
    let mut seen = Seen { spec: site.spec.to_owned(), end, trace: None, screenshot: None };
    if matches!(seen.end, Visit::Ran(_)) {
        seen.find_attachments(cwd);
    }
    Ok(seen)
}

fn visit(
    bash: &Bash<'_>,
    site: &Site<'_>,
    cwd: &Path,
    patience: &Patience,
) -> Result<Visit, CannotRun> {
    let deadline = Instant::now() + Duration::from_millis(site.timeout_ms);
    loop {
        if is_ready(bash, site.readiness, cwd)? {
            break;
        }
        if Instant::now() >= deadline {
            return Ok(Visit::NotReady(site.timeout_ms));
        }
        std::thread::sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now())));
    }
    let script = command(site.spec);
    let limits = patience.oracle(ONE_HOUR_MS);
    Ok(Visit::Ran(bash.run(&Command { script: &script, cwd, limits })?))
}

fn command(spec: &str) -> String {
    format!(
        "PLAYWRIGHT_JSON_OUTPUT_NAME={REPORT} npx playwright test {spec} --trace=retain-on-failure --reporter=list,json"
    )
}

fn is_ready(bash: &Bash<'_>, sign: &Readiness, cwd: &Path) -> Result<bool, CannotRun> {
    match sign {
        Readiness::Command(script) => {
            let wall = u64::try_from(LOOK.as_millis()).unwrap_or(u64::MAX);
            let limits = Patience { oracle_ms: Some(wall), ..Patience::default() }.oracle(wall);
            Ok(bash.run(&Command { script, cwd, limits })?.passed())
        }
        Readiness::Url(url) => Ok(answers(url).unwrap_or(false)),
    }
}

/// Whether an address answers with success. Only plain HTTP: it is this machine's.
fn answers(url: &str) -> Option<bool> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { host.to_owned() } else { format!("{host}:80") };
    let address = address.to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, LOOK).ok()?;
    stream.set_read_timeout(Some(LOOK)).ok()?;
    // In one piece: some servers take the first packet for the request.
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).ok()?;
    // `HTTP/1.1 200`
    Some(head.starts_with(b"HTTP/1.") && head[9] == b'2')
}

impl Seen {
    pub(crate) fn pass(&self) -> bool {
        matches!(&self.end, Visit::Ran(ran) if ran.passed())
    }

    pub(crate) fn clause(&self) -> Clause {
        let evidence = match &self.end {
            Visit::NotReady(timeout) => {
                format!("readiness-timeout: the application was not ready within {timeout} ms")
            }
            Visit::Ran(ran) if ran.passed() => format!("{} passed", self.spec),
            Visit::Ran(ran) => {
                format!("{} failed ({}): {}", self.spec, ran.ended.words(), ran.excerpt())
            }
        };
        Clause { clause: format!("{} exits zero", self.spec), pass: self.pass(), evidence }
    }

    /// Finds what Playwright attached. What cannot be read was not attached; the verdict is the same.
    fn find_attachments(&mut self, cwd: &Path) {
        let Some(report) = fs::read(cwd.join(REPORT))
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        else {
            return;
        };
        let find = |name| attachment(&report, name).map(|path| cwd.join(path));
        self.trace = find("trace");
        self.screenshot = find("screenshot");
    }

    /// Keeps what was attached below the run's folder.
    pub(crate) fn keep(&self, place: &Place, run: &RunId, case: &str) -> Option<WebArtifacts> {
        let folder = place.artifacts(run).join(case);
        let keep = |from: &Option<PathBuf>| {
            let from = from.as_ref()?;
            let to = folder.join(from.file_name()?);
            fs::create_dir_all(&folder).ok()?;
            fs::copy(from, &to).ok()?;
            Some(place.relative(&to))
        };
        let kept = WebArtifacts { trace: keep(&self.trace), screenshot: keep(&self.screenshot) };
        (kept != WebArtifacts::default()).then_some(kept)
    }
}

/// Finds the path of the first attachment of a name, wherever it is nested.
fn attachment(value: &Value, name: &str) -> Option<String> {
    match value {
        Value::Object(map) => {
            if map.get("name").and_then(Value::as_str) == Some(name)
                && let Some(path) = map.get("path").and_then(Value::as_str)
            {
                return Some(path.to_owned());
            }
            map.values().find_map(|inner| attachment(inner, name))
        }
        Value::Array(items) => items.iter().find_map(|inner| attachment(inner, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::call::Ended;

    fn seen(end: Visit) -> Seen {
        Seen { spec: "a.spec.ts".into(), end, trace: None, screenshot: None }
    }

    // E-F16
    #[test]
    fn the_exit_code_of_the_specification_decides() {
        let ran = |code| Visit::Ran(Ran { ended: Ended::Exited { code }, ..Ran::default() });
        assert!(seen(ran(0)).pass() && !seen(ran(1)).pass());
        assert!(seen(ran(1)).clause().evidence.contains("a.spec.ts"));
        let late = seen(Visit::NotReady(5));
        assert!(!late.pass() && late.clause().evidence.contains("readiness-timeout"));
    }

    // E-G06
    #[test]
    fn an_address_is_ready_when_it_answers_with_success() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for answer in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 503 No\r\n\r\n"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 512];
                let read = stream.read(&mut request).unwrap();
                assert!(request[..read].starts_with(b"GET /health HTTP/1.1\r\n"));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let url = format!("http://{address}/health");
        assert_eq!(answers(&url), Some(true));
        assert_eq!(answers(&url), Some(false));
        server.join().unwrap();
        assert_eq!(answers(&url), None, "refused");
    }

    // E-G01 E-G05
    #[test]
    fn the_command_is_playwrights_and_attachments_are_found_wherever_they_are() {
        assert_eq!(
            command("a.spec.ts"),
            "PLAYWRIGHT_JSON_OUTPUT_NAME=.ratchet-web-report.json npx playwright test a.spec.ts --trace=retain-on-failure --reporter=list,json"
        );
        let report = serde_json::json!({"suites": [{"suites": [{"specs": [{"tests": [{"results": [
            {"attachments": [{"name": "trace", "path": "t.zip"}, {"name": "trace", "path": "u.zip"}]}
        ]}]}]}]}]});
        assert_eq!(attachment(&report, "trace").as_deref(), Some("t.zip"));
        assert_eq!(attachment(&report, "screenshot"), None);
    }
}

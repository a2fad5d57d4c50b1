//! Images from a registry: fetched when they have to be, with the credentials that `docker login` left, and named by their
//! digest afterwards. The registry is in this process, on the loopback, and speaks just enough.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use ratchet_tests::engine::docker;

use super::world;
use crate::runtime::HONEST;

/// A user name and a password whose encoding needs every letter of the alphabet that engines read.
const LOGIN: &str = "me:pa>>>ss???~~~";

/// A registry with one image.
struct Registry {
    address: String,
    digest: String,
    asked: Arc<Mutex<usize>>,
}

#[derive(Clone)]
struct Shelf {
    blobs: Arc<HashMap<String, Vec<u8>>>,
    manifest: Vec<u8>,
    digest: String,
    asked: Arc<Mutex<usize>>,
}

impl Registry {
    /// Serves the busybox image of the tests with something added, so that its number is known to nobody.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let layer = layer();
        let layer_digest = digest(&layer);
        let config = format!(
            r#"{{"architecture":"amd64","os":"linux","config":{{"Env":["NONCE={address}"]}},"rootfs":{{"type":"layers","diff_ids":["{layer_digest}"]}},"history":[{{"created":"2026-01-01T00:00:00Z"}}]}}"#
        );
        let config_digest = digest(config.as_bytes());
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":{{"mediaType":"application/vnd.docker.container.image.v1+json","size":{},"digest":"{config_digest}"}},"layers":[{{"mediaType":"application/vnd.docker.image.rootfs.diff.tar.gzip","size":{},"digest":"{layer_digest}"}}]}}"#,
            config.len(),
            layer.len()
        );
        let digest = digest(manifest.as_bytes());
        let asked = Arc::new(Mutex::new(0));
        let shelf = Shelf {
            blobs: Arc::new(HashMap::from([
                (layer_digest, layer),
                (config_digest, config.into_bytes()),
            ])),
            manifest: manifest.into_bytes(),
            digest: digest.clone(),
            asked: Arc::clone(&asked),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shelf = shelf.clone();
                std::thread::spawn(move || drop(shelf.serve(stream)));
            }
        });
        Self { address, digest, asked }
    }

    fn image(&self) -> String {
        format!("{}/team/agent:1", self.address)
    }

    fn manifests_asked(&self) -> usize {
        *self.asked.lock().expect("no panic")
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(Command::new("docker").args(["rmi", "--force", &self.image()]).output());
    }
}

impl Shelf {
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut first, mut line, mut authorized) = (String::new(), String::new(), false);
            if reader.read_line(&mut first)? == 0 {
                return Ok(());
            }
            while reader.read_line(&mut line)? > 2 {
                authorized |= line
                    .trim_end()
                    .eq_ignore_ascii_case(&format!("Authorization: Basic {}", base64(LOGIN)));
                line.clear();
            }
            let mut words = first.split(' ');
            let (method, path) =
                (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let blob = path.rsplit('/').next().and_then(|name| self.blobs.get(name));
            let (status, kind, body): (&str, &str, &[u8]) = match (authorized, blob) {
                (false, _) => (
                    "401 Unauthorized",
                    "application/json",
                    br#"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#,
                ),
                (true, Some(blob)) => ("200 OK", "application/octet-stream", blob),
                (true, None) if path.contains("/manifests/") => {
                    *self.asked.lock().expect("no panic") += 1;
                    (
                        "200 OK",
                        "application/vnd.docker.distribution.manifest.v2+json",
                        &self.manifest,
                    )
                }
                (true, None) => ("200 OK", "application/json", b"{}"),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nDocker-Distribution-Api-Version: registry/2.0\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\
                 Docker-Content-Digest: {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                self.digest,
                body.len()
            );
            let stream = reader.get_mut();
            stream.write_all(head.as_bytes())?;
            if method != "HEAD" {
                stream.write_all(body)?;
            }
        }
    }
}

/// The one layer of the busybox image, as a tar.
fn layer() -> Vec<u8> {
    let name = format!("ratchet-layer-{}-{:?}", std::process::id(), std::thread::current().id());
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    docker(["create", "--name", &name, "ratchet-test:busybox", "true"]);
    let tar = Command::new("docker").args(["export", &name]).output().expect("docker runs").stdout;
    docker(["rm", "--force", &name]);
    assert!(tar.len() > 100_000, "the image of the tests is there");
    tar
}

fn piped(program: &str, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stdout).expect("text")
    })
}

fn digest(bytes: &[u8]) -> String {
    let sum = piped("sha256sum", &[], bytes);
    format!("sha256:{}", sum.split(' ').next().unwrap_or_default())
}

fn base64(text: &str) -> String {
    piped("base64", &["--wrap=0"], text.as_bytes())
}

#[test]
fn a_private_image_is_fetched_with_the_login_of_docker_and_recorded_by_its_digest() {
    let registry = Registry::start();
    let world = world(&[&format!("image: {}", registry.image())]);
    let error = super::refusals::told(world.apply("touch ran"));
    assert!(
        error.contains("image-refused")
            && error.contains(&format!("docker login {}", registry.address)),
        "{error}"
    );

    let auth = base64(LOGIN);
    assert!(auth.contains('+') || auth.contains('/') || auth.contains('~'), "{auth} proves little");
    let home = world.env.base().join("home/.docker");
    std::fs::create_dir_all(&home).expect("a folder");
    let config = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, registry.address);
    std::fs::write(home.join("config.json"), config).expect("a file");
    let finished = world.apply(HONEST).args(["--json"]).ok();
    assert_eq!(finished.json()["state"], "advanced", "{finished}");
    assert!(finished.stderr().contains("fetching the image"), "{finished}");
    assert!(!finished.stderr().contains("pa>>>ss"), "{finished}");
    let recorded = world.outcomes()[0]["image"].to_string();
    assert!(recorded.contains(&registry.digest) && recorded.contains("team/agent@"), "{recorded}");

    let before = registry.manifests_asked();
    world.env.ratchet(["batch", "apply"]).agent("true").ok();
    assert_eq!(registry.manifests_asked(), before, "an image that is there is not fetched again");
    world.env.ratchet(["batch", "config", "--set", "dockerPull=always"]).ok();
    world.env.ratchet(["batch", "report", "--change", "add-api", "--answer", "again"]).ok();
    world.env.ratchet(["batch", "apply"]).agent("true").ok();
    assert!(registry.manifests_asked() > before, "always is always");
}

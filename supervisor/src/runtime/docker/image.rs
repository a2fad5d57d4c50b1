//! Makes sure that a container's image is there: looks, fetches as the policy says, tells how far it is.

use std::collections::BTreeMap;
use std::time::Duration;

use bollard::errors::Error as Refusal;
use bollard::models::CreateImageInfo;
use ratchet_engine::settings::PullPolicy;
use tokio::time::Instant;
use tokio_stream::StreamExt as _;

use super::credentials;
use super::engine::{Engine, ImageFound, words};
use super::error::DockerError;
use super::reference::Reference;
use crate::environment::Environment;
use crate::runtime::Line;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Finds the image, after fetching it if the policy says so.
pub(super) async fn ready(
    engine: &Engine,
    image: &str,
    policy: PullPolicy,
    environment: &Environment,
    line: &Line<'_>,
) -> Result<ImageFound, DockerError> {
    let reference = Reference::parse(image)
        .ok_or_else(|| DockerError::BadReference { image: image.to_owned() })?;
    if policy != PullPolicy::Always
        && let Some(found) = engine.image(image).await?
    {
        return Ok(found);
    }
    if policy == PullPolicy::Never || reference.is_id() {
        return Err(DockerError::ImageMissing { image: image.to_owned() });
    }
    tokio::select! {
        pulled = pull(engine, &reference, environment, line) => pulled?,
        () = line.withdrawn.cancelled() => return Err(DockerError::Withdrawn),
    }
    let gone = || DockerError::ImageNotFound {
        image: image.to_owned(),
        why: "it was fetched and is gone again".to_owned(),
    };
    engine.image(image).await?.ok_or_else(gone)
}

async fn pull(
    engine: &Engine,
    reference: &Reference,
    environment: &Environment,
    line: &Line<'_>,
) -> Result<(), DockerError> {
    line.tell(format!("fetching the image {}", reference.text())).await;
    let credentials = credentials::of(reference.registry(), environment);
    let mut answers = engine.pull(reference.name(), reference.tag(), credentials);
    let (mut progress, mut told) = (Progress::default(), Instant::now());
    while let Some(answer) = answers.next().await {
        let answer = answer.map_err(|error| refused(engine, reference, error))?;
        progress.take(&answer);
        if told.elapsed() >= TELL_EVERY
            && let Some(text) = progress.text()
        {
            line.tell(format!("fetching the image {}: {text}", reference.text())).await;
            told = Instant::now();
        }
    }
    line.tell(format!("the image {} is here", reference.text())).await;
    Ok(())
}

/// Makes out why an image was not given. The engine passes on what the registry says, in words only.
fn refused(engine: &Engine, reference: &Reference, error: Refusal) -> DockerError {
    let why = words(&error);
    let low = why.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|words| low.contains(words));
    let (image, registry) = (reference.text().to_owned(), reference.registry().to_owned());
    if has(&["toomanyrequests", "too many requests", "rate limit"]) {
        DockerError::RateLimited { image, registry }
    } else if has(&["no space left"]) {
        DockerError::DiskFull { why }
    } else if has(&[
        "repository does not exist",
        "manifest unknown",
        "not found",
        "no such image",
        "name unknown",
    ]) {
        DockerError::ImageNotFound { image, why }
    } else if has(&[
        "unauthorized",
        "authentication required",
        "no basic auth",
        "denied",
        "forbidden",
        "login",
    ]) {
        DockerError::PullRefused { image, registry, why }
    } else if has(&["invalid reference"]) {
        DockerError::BadReference { image }
    } else if has(&[
        "dial tcp",
        "no such host",
        "timeout",
        "connection refused",
        "unreachable",
        "tls",
        "deadline exceeded",
        "server gave http",
        "eof",
    ]) {
        DockerError::RegistryUnreachable { image, why }
    } else {
        engine.explained("fetch the image", error)
    }
}

/// How far the layers of an image are.
#[derive(Debug, Default)]
struct Progress {
    layers: BTreeMap<String, (i64, i64)>,
}

impl Progress {
    fn take(&mut self, answer: &CreateImageInfo) {
        let (Some(id), Some(detail)) = (&answer.id, &answer.progress_detail) else { return };
        let downloading = answer.status.as_deref() == Some("Downloading");
        if let (Some(current), Some(total), true) = (detail.current, detail.total, downloading) {
            self.layers.insert(id.clone(), (current, total));
        } else if let Some((current, total)) = self.layers.get_mut(id) {
            // It is unpacked now, so all of it is here.
            *current = *total;
        }
    }

    fn text(&self) -> Option<String> {
        let sum =
            |(current, total): (i64, i64), layer: &(i64, i64)| (current + layer.0, total + layer.1);
        let (current, total) = self.layers.values().fold((0, 0), sum);
        let megabytes = |bytes: i64| bytes as f64 / 1e6;
        (total > 0).then(|| {
            format!(
                "{} % ({:.1} of {:.1} MB)",
                current * 100 / total,
                megabytes(current),
                megabytes(total)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, status: &str, detail: Option<(i64, i64)>) -> CreateImageInfo {
        let detail = detail.map_or_else(Default::default, |(current, total)| {
            bollard::models::ProgressDetail { current: Some(current), total: Some(total) }
        });
        CreateImageInfo {
            id: Some(id.to_owned()),
            status: Some(status.to_owned()),
            progress_detail: Some(detail),
            ..Default::default()
        }
    }

    #[test]
    fn progress_is_that_of_all_layers_together() {
        let mut progress = Progress::default();
        progress.take(&answer("a", "Pulling fs layer", None));
        assert_eq!(progress.text(), None);
        progress.take(&answer("a", "Downloading", Some((1_000_000, 4_000_000))));
        progress.take(&answer("b", "Downloading", Some((3_000_000, 6_000_000))));
        assert_eq!(progress.text().as_deref(), Some("40 % (4.0 of 10.0 MB)"));
        progress.take(&answer("b", "Extracting", Some((1, 6_000_000))));
        assert_eq!(progress.text().as_deref(), Some("70 % (7.0 of 10.0 MB)"));
    }
}

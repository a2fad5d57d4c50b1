//! The root: one project actor per project root. It decides nothing, and a project that dies takes no other along.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, Spawn as _, WeakActorRef};
use kameo::error::ActorStopReason;
use kameo::mailbox;
use kameo::message::{Context, Message};
use kameo::supervision::RestartPolicy;

use super::brood::{Brood, Undelivered};
use super::message::{Settled, Stop, Work};
use super::project::{ProjectActor, ProjectArgs};
use super::runtime::RuntimeActor;
use crate::error::Error;
use crate::house::Office;

/// Every request of every client passes here, and each takes microseconds: a thousand clients at once fit in.
pub(crate) const ROOT_MAILBOX: usize = 1024;

/// A project's batches share this; past it their callers are told to come again.
const PROJECT_MAILBOX: usize = 256;

/// The top of the tree.
pub(crate) struct Root {
    office: Arc<Office>,
    runtime: ActorRef<RuntimeActor>,
    projects: Brood<PathBuf, ProjectActor>,
}

impl Actor for Root {
    type Args = Arc<Office>;
    type Error = Infallible;

    async fn on_start(office: Self::Args, me: ActorRef<Self>) -> Result<Self, Self::Error> {
        let runtime = RuntimeActor::supervise(&me, Arc::clone(&office))
            .restart_policy(RestartPolicy::Permanent)
            .spawn()
            .await;
        Ok(Self { office, runtime, projects: Brood::new() })
    }

    async fn on_link_died(
        &mut self,
        _me: WeakActorRef<Self>,
        id: ActorId,
        reason: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Self::Error> {
        if let Some((root, pending)) = self.projects.bury(id) {
            tracing::warn!(project = %root.display(), pending, %reason, "a project's actor died");
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Message<Work> for Root {
    type Reply = ();

    async fn handle(&mut self, work: Work, ctx: &mut Context<Self, ()>) {
        let root = work.house.project.root().to_owned();
        if self.projects.living(&root).is_none() {
            let args = ProjectArgs {
                office: Arc::clone(&self.office),
                runtime: self.runtime.clone(),
                above: ctx.actor_ref().downgrade(),
                root: root.clone(),
            };
            let project = ProjectActor::spawn_with_mailbox(args, mailbox::bounded(PROJECT_MAILBOX));
            ctx.actor_ref().link(&project).await;
            self.projects.adopt(root.clone(), project);
        }
        match self.projects.hand(&root, work) {
            Ok(()) => {}
            Err(Undelivered::Full(work)) => work.refuse(Error::Busy),
            Err(Undelivered::Gone(work)) => work.refuse(Error::WatcherDied),
        }
    }
}

impl Message<Settled<PathBuf>> for Root {
    type Reply = ();

    async fn handle(&mut self, settled: Settled<PathBuf>, _ctx: &mut Context<Self, ()>) {
        self.projects.settle(&settled.key, settled.who, settled.pieces);
    }
}

impl Message<Stop> for Root {
    type Reply = ();

    async fn handle(&mut self, stop: Stop, _ctx: &mut Context<Self, ()>) {
        for (root, project) in self.projects.all() {
            if stop.of.as_ref().is_none_or(|(wanted, _)| wanted == root) {
                // A project that is gone has nothing left to stop.
                let _gone = project.tell(stop.clone()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use ratchet_engine::name::BatchName;
    use tokio::sync::{mpsc, oneshot};
    use tracing::Span;

    use super::super::message::{Ask, Caller};
    use super::*;
    use crate::environment::Environment;
    use crate::house::{House, Options};
    use crate::project::Project;
    use crate::store::layout::RunHome;

    /// How many children live below.
    struct Census;

    impl Message<Census> for Root {
        type Reply = usize;

        async fn handle(&mut self, _census: Census, _ctx: &mut Context<Self, usize>) -> usize {
            self.projects.all().count()
        }
    }

    /// kameo's own supervision would keep a thousand finished children for ever (its issue 393).
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_thousand_batches_that_are_done_with_are_forgotten_and_so_is_their_project() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let environment = Environment::new("/", [("XDG_STATE_HOME", state.as_os_str())]);
        let options = Options {
            shim: Vec::new(),
            ratchet: PathBuf::new(),
            local_capacity: NonZeroUsize::MIN,
        };
        let house = Arc::new(House {
            project: Project::at(folder.path(), environment).unwrap(),
            options: Arc::new(options.clone()),
            trace: ratchet_telemetry::TraceSpan::none(),
        });
        let office = Arc::new(Office::new(options));
        let root = Root::spawn_with_mailbox(office, mailbox::bounded(ROOT_MAILBOX));
        for number in 0..1000 {
            let name = BatchName::parse(&format!("b{number}")).unwrap();
            std::fs::create_dir_all(house.project.layout().batch(&name)).unwrap();
            let (events, _) = mpsc::channel(1);
            let (reply, answer) = oneshot::channel();
            let (house, home) = (Arc::clone(&house), RunHome::Batch(name));
            let caller = Caller { events, reply };
            let work = Work { house, home, ask: Ask::Recover, caller, span: Span::none() };
            root.tell(work).await.unwrap();
            answer.await.unwrap().unwrap();
        }
        while root.ask(Census).await.unwrap() > 0 || Arc::strong_count(&house) > 1 {
            tokio::task::yield_now().await;
        }
    }
}

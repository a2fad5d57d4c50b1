//! The children of one actor, by key: started when they are asked for, forgotten when they are idle.
//!
//! Work is counted on its way down and settled on its way up. A child that has settled all it was given has nothing in its
//! mailbox, so letting go of it loses nothing. kameo's own supervision would keep every child for ever.

use std::collections::BTreeMap;

use kameo::Actor;
use kameo::actor::{ActorId, ActorRef};
use kameo::error::SendError;
use kameo::message::Message;

/// The children, and how much each still has to do.
pub(super) struct Brood<Key, Child: Actor> {
    children: BTreeMap<Key, Entry<Child>>,
}

struct Entry<Child: Actor> {
    actor: ActorRef<Child>,
    pending: usize,
}

/// A message that did not reach a child.
pub(super) enum Undelivered<M> {
    /// Its mailbox is full.
    Full(M),
    /// It is gone.
    Gone(M),
}

impl<Key: Ord + Clone, Child: Actor> Brood<Key, Child> {
    pub(super) fn new() -> Self {
        Self { children: BTreeMap::new() }
    }

    /// Gives the child of a key that lives.
    pub(super) fn living(&self, key: &Key) -> Option<&ActorRef<Child>> {
        self.children.get(key).map(|entry| &entry.actor).filter(|actor| actor.is_alive())
    }

    /// Takes a child in.
    pub(super) fn adopt(&mut self, key: Key, actor: ActorRef<Child>) {
        self.children.insert(key, Entry { actor, pending: 0 });
    }

    /// Hands a piece of work to the child of a key, which must have been adopted.
    pub(super) fn hand<M>(&mut self, key: &Key, work: M) -> Result<(), Undelivered<M>>
    where
        M: Send + 'static,
        Child: Message<M>,
    {
        let entry = self.children.get_mut(key).expect("work goes to a child that was adopted");
        match entry.actor.tell(work).try_send() {
            Ok(()) => {
                entry.pending += 1;
                Ok(())
            }
            Err(SendError::MailboxFull(work)) => Err(Undelivered::Full(work)),
            Err(SendError::ActorNotRunning(work) | SendError::ActorRestarting(work)) => {
                Err(Undelivered::Gone(work))
            }
            Err(SendError::ActorStopped | SendError::HandlerError(_) | SendError::Timeout(_)) => {
                unreachable!("a message that is told without waiting comes back or is taken")
            }
        }
    }

    /// Takes off what a child has answered, and lets go of it if that was all.
    pub(super) fn settle(&mut self, key: &Key, who: ActorId, pieces: usize) {
        let Some(entry) = self.children.get_mut(key).filter(|entry| entry.actor.id() == who) else {
            return;
        };
        entry.pending = entry.pending.saturating_sub(pieces);
        if entry.pending == 0 {
            self.children.remove(key);
        }
    }

    /// Forgets a child that died. Returns its key, and how much it leaves undone.
    pub(super) fn bury(&mut self, who: ActorId) -> Option<(Key, usize)> {
        let (key, pending) = self
            .children
            .iter()
            .find(|(_, entry)| entry.actor.id() == who)
            .map(|(key, entry)| (key.clone(), entry.pending))?;
        self.children.remove(&key);
        Some((key, pending))
    }

    /// Lists the children.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Key, &ActorRef<Child>)> {
        self.children.iter().map(|(key, entry)| (key, &entry.actor))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use kameo::actor::Spawn as _;
    use kameo::mailbox;
    use kameo::message::Context;
    use tokio::sync::Notify;

    use super::*;

    /// Says when it has begun a piece, and goes on when it may.
    struct Child {
        begun: Arc<Notify>,
        may: Arc<Notify>,
    }

    impl Actor for Child {
        type Args = Self;
        type Error = Infallible;

        async fn on_start(args: Self, _me: ActorRef<Self>) -> Result<Self, Infallible> {
            Ok(args)
        }
    }

    impl Message<u32> for Child {
        type Reply = ();

        async fn handle(&mut self, _piece: u32, _ctx: &mut Context<Self, ()>) {
            self.begun.notify_one();
            self.may.notified().await;
        }
    }

    #[tokio::test]
    async fn a_full_mailbox_gives_the_work_back_and_an_idle_child_is_let_go_of() {
        let (begun, may) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let args = Child { begun: Arc::clone(&begun), may: Arc::clone(&may) };
        let child = Child::spawn_with_mailbox(args, mailbox::bounded(1));
        let who = child.id();
        child.wait_for_startup().await;
        let mut brood = Brood::new();
        brood.adopt("key", child);
        assert!(brood.hand(&"key", 1).is_ok());
        begun.notified().await;
        assert!(brood.hand(&"key", 2).is_ok(), "it waits in the mailbox");
        assert!(matches!(brood.hand(&"key", 3), Err(Undelivered::Full(3))));

        brood.settle(&"key", who, 1);
        assert!(brood.living(&"key").is_some(), "a piece is pending");
        brood.settle(&"other", who, 1);
        brood.settle(&"key", who, 1);
        assert!(brood.living(&"key").is_none());
        may.notify_one();
    }

    #[tokio::test]
    async fn a_dead_child_leaves_its_key_and_its_pending_work() {
        let args = Child { begun: Arc::default(), may: Arc::default() };
        let child = Child::spawn(args);
        let who = child.id();
        let mut brood = Brood::new();
        brood.adopt(7, child.clone());
        assert!(brood.hand(&7, 1).is_ok());
        child.kill();
        child.wait_for_shutdown().await;
        assert!(matches!(brood.hand(&7, 2), Err(Undelivered::Gone(2))));
        assert_eq!(brood.bury(who), Some((7, 1)));
        assert_eq!(brood.bury(who), None);
    }
}

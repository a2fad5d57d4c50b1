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

//! Hears from the kernel that something changed in a spawn's folder. No polling.
//!
//! One inotify descriptor and one thread serve all watchers of the process: a user may have few of the former (128 is
//! usual), and a thread needs no runtime of its own, so a watcher may live in any.
//!
//! The lock and the spool are watched as files, not as names in the folder, so that an agent which deletes the folder
//! cannot make us deaf.

use std::collections::BTreeMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::sync::Notify;

use crate::directory::SpawnDir;

/// Room for some hundreds of events; what does not fit is read in the next round.
const EVENTS_BYTES: usize = 16 * 1024;

const FOLDER: WatchFlags =
    WatchFlags::CREATE.union(WatchFlags::MOVED_TO).union(WatchFlags::ONLYDIR);

/// Ears for one spawn.
#[derive(Debug)]
pub(crate) struct Watch {
    hub: Arc<Hub>,
    ear: Arc<Ear>,
    numbers: Vec<i32>,
    spool: Spool,
}

/// Whether the spool is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spool {
    NotThere,
    Heard,
}

/// Which entries of a folder are listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entries {
    /// Those of a spawn that tell of output or an end. The shim prepares its files beside their places, and says things
    /// that nobody waits for.
    Telling,
    /// All.
    All,
}

/// What was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Only that the spool has grown.
    Output,
    /// Something else; look at everything.
    Anything,
}

impl Watch {
    /// Listens to the folder and the lock.
    pub(crate) fn new(dir: &SpawnDir) -> io::Result<Self> {
        let mut watch = Self::of_nothing()?;
        watch.listen(dir.path(), FOLDER, News::Anything, Entries::Telling)?;
        // A folder that was deleted and made again for its exit record has no lock.
        watch.listen_if_there(&dir.lock_file(), WatchFlags::CLOSE_WRITE, News::Anything)?;
        Ok(watch)
    }

    /// Listens to nothing yet.
    pub(crate) fn of_nothing() -> io::Result<Self> {
        let (hub, ear) = (Hub::get()?, Arc::new(Ear::default()));
        Ok(Self { hub, ear, numbers: Vec::new(), spool: Spool::NotThere })
    }

    /// Listens to the spool too, if it is there.
    pub(crate) fn listen_to_spool(&mut self, dir: &SpawnDir) -> io::Result<Spool> {
        if self.spool == Spool::NotThere {
            self.spool =
                self.listen_if_there(&dir.spool_file(), WatchFlags::MODIFY, News::Output)?;
        }
        Ok(self.spool)
    }

    /// Waits for news. Safe to drop: what was not heard is still there.
    pub(crate) async fn news(&self) -> News {
        self.ear.bell.notified().await;
        if self.ear.anything.swap(false, Ordering::AcqRel) { News::Anything } else { News::Output }
    }

    fn listen_if_there(&mut self, path: &Path, flags: WatchFlags, news: News) -> io::Result<Spool> {
        match self.listen(path, flags, news, Entries::All) {
            Ok(_) => Ok(Spool::Heard),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(Spool::NotThere),
            Err(other) => Err(other),
        }
    }

    /// Listens to a file, or a folder's entries, by any flags. Returns the kernel's number for it.
    pub(crate) fn listen(
        &mut self,
        path: &Path,
        flags: WatchFlags,
        news: News,
        entries: Entries,
    ) -> io::Result<i32> {
        let mut listeners = self.hub.listeners();
        // The kernel gives the same number to all who listen to one file.
        let number = inotify::add_watch(&self.hub.inotify, path, flags)?;
        let listening = listeners.entry(number).or_default();
        if !listening.iter().any(|known| Arc::ptr_eq(&known.ear, &self.ear)) {
            listening.push(Listener { news, entries, ear: Arc::clone(&self.ear) });
        }
        if !self.numbers.contains(&number) {
            self.numbers.push(number);
        }
        Ok(number)
    }

    /// Listens no more to what has this number.
    pub(crate) fn forget(&mut self, number: i32) {
        self.numbers.retain(|known| *known != number);
        self.hub.forget(number, &self.ear);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        for number in &self.numbers {
            self.hub.forget(*number, &self.ear);
        }
    }
}

#[derive(Debug, Default)]
struct Ear {
    bell: Notify,
    anything: AtomicBool,
}

impl Ear {
    fn hear(&self, news: News) {
        if news == News::Anything {
            self.anything.store(true, Ordering::Release);
        }
        self.bell.notify_one();
    }
}

/// Who listens to one number, and to what of it.
#[derive(Debug)]
struct Listener {
    news: News,
    entries: Entries,
    ear: Arc<Ear>,
}

type Listeners = BTreeMap<i32, Vec<Listener>>;

/// The one descriptor of the process, and who listens to which of its numbers.
#[derive(Debug)]
struct Hub {
    inotify: OwnedFd,
    listeners: Mutex<Listeners>,
}

static HUB: Mutex<Option<Arc<Hub>>> = Mutex::new(None);

impl Hub {
    /// Gives the hub; the first caller starts it, and it stays as long as the process.
    fn get() -> io::Result<Arc<Self>> {
        let mut place = HUB.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hub) = &*place {
            return Ok(Arc::clone(hub));
        }
        let hub = Arc::new(Self {
            inotify: inotify::init(CreateFlags::CLOEXEC)?,
            listeners: Mutex::new(BTreeMap::new()),
        });
        let listening = Arc::clone(&hub);
        std::thread::Builder::new()
            .name("spawn-watch".to_owned())
            .stack_size(128 * 1024)
            .spawn(move || listening.listen())?;
        Ok(Arc::clone(place.insert(hub)))
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, number: i32, ear: &Arc<Ear>) {
        let mut listeners = self.listeners();
        let Some(ears) = listeners.get_mut(&number) else { return };
        ears.retain(|known| !Arc::ptr_eq(&known.ear, ear));
        if ears.is_empty() {
            listeners.remove(&number);
            // The kernel has forgotten it already if the file is gone.
            let _ = inotify::remove_watch(&self.inotify, number);
        }
    }

    fn listen(&self) {
        let mut buffer = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => self.pass_on(&event),
                Err(Errno::INTR) => {}
                // The descriptor is ours and a notifier: this cannot happen, and without it everyone must look.
                Err(_) => return self.wake_all(),
            }
        }
    }

    fn pass_on(&self, event: &inotify::Event<'_>) {
        let (number, events) = (event.wd(), event.events());
        if events.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.wake_all();
        }
        let mut listeners = self.listeners();
        let telling = event.file_name().is_none_or(SpawnDir::is_telling);
        for listener in listeners.get(&number).into_iter().flatten() {
            match listener.entries {
                Entries::Telling if !telling => {}
                Entries::Telling | Entries::All => listener.ear.hear(listener.news),
            }
        }
        if events.contains(ReadFlags::IGNORED) {
            listeners.remove(&number);
        }
    }

    fn wake_all(&self) {
        for listener in self.listeners().values().flatten() {
            listener.ear.hear(News::Anything);
        }
    }
}

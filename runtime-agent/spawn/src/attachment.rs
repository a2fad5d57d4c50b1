//! A live view of a spawn: its frames from any position on, then how it ended.

use std::fs::File;
use std::io;

use crate::directory::SpawnDir;
use crate::lock;
use crate::record::ExitRecord;
use crate::spool::{Frame, Position, SpoolError, SpoolReader};
use crate::standing::{Lost, Standing, standing};
use crate::watch::{News, Spool, Watch};

/// What an attachment tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// More output.
    Frame(Frame),
    /// It ended; all its output was told before. The last event.
    Ended(Box<ExitRecord>),
    /// Nobody will ever know how it ended; what there is of its output was told before. The last event.
    Lost(Lost),
    /// It was abandoned before it started. The last event.
    Abandoned,
}

/// A spawn that cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The spool cannot be read on: the agent has damaged it, or the disk has. This is told once; the next event is the
    /// end.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The kernel or the disk refused. With many watchers: `fs.inotify.max_user_instances`. The end can still be waited
    /// for: [`crate::await_shim_end`].
    #[error("cannot watch the spawn")]
    Watch(#[source] io::Error),
}

/// A live view of a spawn. Any number of them may be open; none of them changes the spawn.
///
/// Reading is from the page cache, so it is done right here and not on a thread of its own.
#[derive(Debug)]
pub struct Attachment {
    dir: SpawnDir,
    reader: SpoolReader,
    watch: Watch,
    /// Held open, so that the lock can be asked about when its name is gone.
    lock: Option<File>,
    outlook: Outlook,
}

#[derive(Debug)]
enum Outlook {
    /// Something other than output happened, or this is the beginning.
    Unknown,
    /// It goes on.
    Open,
    /// It is over; what is in the spool is told first.
    Over(Event),
}

impl Attachment {
    /// Attaches at a position. The spawn need not have started.
    ///
    /// # Errors
    /// [`AttachError::Watch`] if the folder cannot be watched.
    pub fn open(dir: &SpawnDir, position: Position) -> Result<Self, AttachError> {
        let watch = Watch::new(dir).map_err(AttachError::Watch)?;
        let lock = lock::open(&dir.lock_file()).map_err(AttachError::Watch)?;
        let reader = SpoolReader::new(position);
        Ok(Self { dir: dir.clone(), reader, watch, lock, outlook: Outlook::Unknown })
    }

    /// Gives the position of the next frame.
    #[must_use]
    pub fn position(&self) -> Position {
        self.reader.position()
    }

    /// Waits for the next event; after the last one, gives it again. A spawn that nobody starts has no event; see
    /// [`crate::abandon`]. Safe to drop at any time: nothing is lost, nothing is told twice.
    ///
    /// # Errors
    /// As the variants of [`AttachError`] say.
    pub async fn next(&mut self) -> Result<Event, AttachError> {
        // A long backlog must not keep other tasks of this thread waiting.
        tokio::task::coop::consume_budget().await;
        loop {
            if let Some(frame) = self.next_frame()? {
                return Ok(Event::Frame(frame));
            }
            match &self.outlook {
                Outlook::Over(last) => return Ok(last.clone()),
                // What was printed up to the end is in the spool by now, so it is read once more.
                Outlook::Unknown => self.look().map_err(AttachError::Watch)?,
                Outlook::Open => match self.watch.news().await {
                    News::Output => {}
                    News::Anything => self.outlook = Outlook::Unknown,
                },
            }
        }
    }

    fn next_frame(&mut self) -> Result<Option<Frame>, AttachError> {
        if self.reader.is_to_be_opened() {
            // Heard first and read then, or what is written in between would be missed.
            match self.watch.listen_to_spool(&self.dir).map_err(AttachError::Watch)? {
                Spool::NotThere => return Ok(None),
                Spool::Heard => self.reader.open(&self.dir)?,
            }
        }
        Ok(self.reader.next_frame()?)
    }

    fn look(&mut self) -> io::Result<()> {
        self.outlook = match standing(&self.dir, self.lock.as_ref())? {
            Standing::NeverStarted | Standing::Running(_) => Outlook::Open,
            Standing::Abandoned => Outlook::Over(Event::Abandoned),
            Standing::Ended(record) => Outlook::Over(Event::Ended(record)),
            Standing::Lost(lost) => Outlook::Over(Event::Lost(lost)),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::spool::{OPENING, Stream, encode_header};
    use crate::testing::asked;

    fn print(spool: &mut File, word: &[u8]) {
        spool.write_all(&encode_header(Stream::Stdout, word.len(), 0)).unwrap();
        spool.write_all(word).unwrap();
    }

    async fn hear(attachment: &mut Attachment) -> Vec<u8> {
        let heard = tokio::time::timeout(Duration::from_secs(20), attachment.next()).await;
        match heard.expect("output that nobody hears").unwrap() {
            Event::Frame(frame) => frame.bytes,
            other => panic!("{other:?}"),
        }
    }

    /// The spool may come into being between any two calls of the first look. No call waits, so many rounds are quick.
    #[tokio::test]
    async fn output_is_heard_when_it_comes_however_the_first_look_falls_on_its_beginning() {
        let root = tempfile::tempdir().unwrap();
        for round in 0..1000 {
            let dir = asked(root.path(), &round.to_string());
            let mut attachment = Attachment::open(&dir, Position::START).unwrap();
            let (here, file) = (Arc::new(AtomicBool::new(false)), dir.spool_file());
            let there = Arc::clone(&here);
            let shim = std::thread::spawn(move || {
                while !there.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                // Each round begins a little later in the look.
                (0..round * 4).for_each(|_| std::hint::spin_loop());
                let mut spool = File::create(file).unwrap();
                spool.write_all(OPENING).unwrap();
                print(&mut spool, b"one");
                spool
            });
            here.store(true, Ordering::Release);
            assert_eq!(hear(&mut attachment).await, b"one");
            print(&mut shim.join().unwrap(), b"two");
            assert_eq!(hear(&mut attachment).await, b"two");
        }
    }
}

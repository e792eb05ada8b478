//! The processes of a sandbox: the process IDs that the SDKs use, and the executions behind them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{
    refusal::{Kind, Refusal},
    wire::process::{Config, Selector},
};

/// One command of a sandbox.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// The ID of the execution.
    pub(crate) execution: String,
    /// The command as the caller described it.
    pub(crate) config: Config,
    pub(crate) tag: Option<String>,
    pub(crate) has_terminal: bool,
    /// The position of the input. It is locked while input is written, so that writes keep their order.
    pub(crate) input: tokio::sync::Mutex<Input>,
    ended: AtomicBool,
}

/// The state of a process's input.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The bytes that the command has received, unless a failed write left this unknown.
    pub(crate) offset: Option<u64>,
    /// Whether the command has no input, or its input was closed.
    pub(crate) is_closed: bool,
}

impl Process {
    /// Records that the command has ended.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Reports whether the command is known to have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// A command to add to the table.
#[derive(Debug)]
pub(crate) struct New {
    pub(crate) execution: String,
    pub(crate) config: Config,
    pub(crate) tag: Option<String>,
    pub(crate) has_input: bool,
    pub(crate) has_terminal: bool,
}

/// The processes of one sandbox. Those that have ended are kept until further ones need their place.
#[derive(Debug)]
pub(crate) struct Processes {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// The last process ID.
    last: u32,
    by_pid: BTreeMap<u32, Arc<Process>>,
}

impl Processes {
    pub(crate) fn new(most: u32) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX), table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports whether a further process can be added.
    ///
    /// # Errors
    /// If the sandbox has too many running processes.
    pub(crate) fn has_room(&self) -> Result<(), Refusal> {
        let table = self.table();
        if table.by_pid.len() < self.most || table.by_pid.values().any(|process| process.has_ended()) {
            return Ok(());
        }
        let most = self.most;
        Err(Refusal::new(Kind::TooMany, format!("the sandbox has {most} running processes; end some first")))
    }

    /// Adds a process and returns it with its process ID. It replaces the oldest process that has ended, if necessary.
    pub(crate) fn add(&self, new: New) -> Arc<Process> {
        let mut table = self.table();
        if table.by_pid.len() >= self.most {
            let oldest = table.by_pid.values().find(|process| process.has_ended()).map(|process| process.pid);
            oldest.and_then(|pid| table.by_pid.remove(&pid));
        }
        // The first processes of a system have small IDs, which no caller should take for those of this sandbox.
        table.last = table.last.max(100).wrapping_add(1);
        let process = Arc::new(Process {
            pid: table.last,
            execution: new.execution,
            config: new.config,
            tag: new.tag,
            has_terminal: new.has_terminal,
            input: tokio::sync::Mutex::new(Input {
                offset: Some(0),
                is_closed: !new.has_input && !new.has_terminal,
            }),
            ended: AtomicBool::new(false),
        });
        table.by_pid.insert(process.pid, Arc::clone(&process));
        process
    }

    /// Returns the selected process, also if it has ended.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn find(&self, selector: &Selector) -> Result<Arc<Process>, Refusal> {
        let table = self.table();
        let found = match selector {
            Selector { pid: Some(pid), .. } => table.by_pid.get(pid),
            Selector { tag: Some(tag), .. } => {
                table.by_pid.values().rev().find(|process| process.tag.as_ref() == Some(tag))
            }
            Selector { .. } => {
                return Err(Refusal::invalid("the request selects no process; set pid or tag"));
            }
        };
        found.cloned().ok_or_else(|| Refusal::new(Kind::NotFound, format!("process {selector} not found")))
    }

    /// Returns the processes that are not known to have ended, in the order of their starts.
    pub(crate) fn running(&self) -> Vec<Arc<Process>> {
        self.table().by_pid.values().filter(|process| !process.has_ended()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(tag: &str) -> New {
        New {
            execution: tag.to_owned(),
            config: Config::default(),
            tag: Some(tag.to_owned()),
            has_input: false,
            has_terminal: false,
        }
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_oldest_that_ended() {
        let processes = Processes::new(2);
        let (one, two) = (processes.add(new("one")), processes.add(new("two")));
        assert_eq!(processes.has_room().unwrap_err().kind, Kind::TooMany);
        two.end();
        processes.has_room().unwrap();
        let three = processes.add(new("three"));
        assert!(three.pid > two.pid && two.pid > one.pid);
        assert_eq!(processes.running().len(), 2);
        let by = |pid| processes.find(&Selector { pid: Some(pid), tag: None });
        assert_eq!(by(two.pid).unwrap_err().kind, Kind::NotFound);
        assert_eq!(by(one.pid).unwrap().execution, "one");
        let tagged = processes.find(&Selector { pid: None, tag: Some("three".to_owned()) }).unwrap();
        assert_eq!(tagged.pid, three.pid);
        assert_eq!(processes.find(&Selector::default()).unwrap_err().kind, Kind::Invalid);
    }
}

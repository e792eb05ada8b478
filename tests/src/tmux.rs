//! A terminal and its user, simulated by tmux: a shell on a screen of a known size, keys, and the screen content.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{desk::Airlock, process::until, site::PATIENCE};

/// The prompt of the shell on the screen.
pub const PROMPT: &str = "here> ";

/// The pause between two attempts of [`Screen::press_until`].
const AGAIN: Duration = Duration::from_millis(500);

/// A screen. Dropping it ends everything that runs on it.
#[derive(Debug)]
pub struct Screen {
    socket: PathBuf,
}

impl Screen {
    /// Starts a shell on a screen of this size. Its `airlock` command uses a site.
    ///
    /// # Panics
    /// If tmux does not start it.
    #[must_use]
    pub fn new(airlock: &Airlock<'_>, directory: &Path, (cols, rows): (u16, u16)) -> Self {
        let number = fs::read_dir(directory).map_or(0, Iterator::count);
        let screen = Self { socket: directory.join(format!("tmux-{number}")) };
        let program = airlock.command(&[]);
        let path = Path::new(program.get_program()).parent().unwrap();
        let mut tmux = screen.tmux(&["new-session", "-d"]);
        tmux.args(["-x", &cols.to_string(), "-y", &rows.to_string()]);
        // tmux starts a noninteractive shell, which would remove the prompt from its environment.
        let shell = format!("PS1='{PROMPT}' exec bash --noprofile --norc");
        tmux.args([shell.as_str(), ";", "set-option", "-g", "status", "off"]);
        for (name, value) in program.get_envs() {
            tmux.env(name, value.unwrap());
        }
        tmux.env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap()));
        tmux.env("LC_ALL", "C.UTF-8").env_remove("TMUX").current_dir(directory);
        done(&mut tmux);
        screen.resize(cols, rows);
        screen.wait("the shell shows its prompt", |shown| shown.trim_end() == PROMPT.trim_end());
        screen
    }

    fn tmux(&self, words: &[&str]) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(words);
        tmux
    }

    /// Returns the screen content, one line per row.
    ///
    /// # Panics
    /// If the screen has ended.
    #[must_use]
    pub fn shown(&self) -> String {
        done(&mut self.tmux(&["capture-pane", "-p"]))
    }

    /// Types text literally.
    pub fn text(&self, text: &str) {
        done(&mut self.tmux(&["send-keys", "-l", text]));
    }

    /// Types keys by tmux's names, such as `C-c` or `Enter`.
    pub fn keys(&self, keys: &[&str]) {
        done(self.tmux(&["send-keys"]).args(keys));
    }

    /// Types keys repeatedly until the screen shows this text, because the program may not read them yet.
    pub fn press_until(&self, keys: &[&str], text: &str) {
        let pressed = Cell::new(None::<Instant>);
        self.wait(&format!("`{text}` is shown"), |shown| {
            if shown.contains(text) {
                return true;
            }
            if pressed.get().is_none_or(|at| at.elapsed() > AGAIN) {
                self.keys(keys);
                pressed.set(Some(Instant::now()));
            }
            false
        });
    }

    /// Types a line and Enter.
    pub fn line(&self, text: &str) {
        self.text(text);
        self.keys(&["Enter"]);
    }

    /// Resizes the screen, and waits until its terminal reports the new size.
    pub fn resize(&self, cols: u16, rows: u16) {
        let (x, y) = (cols.to_string(), rows.to_string());
        done(&mut self.tmux(&["resize-window", "-x", &x, "-y", &y]));
        let terminal = done(&mut self.tmux(&["display-message", "-p", "#{pane_tty}"]));
        until("the terminal has its size", PATIENCE, || {
            let size = done(Command::new("stty").args(["-F", terminal.trim(), "size"]));
            size.trim() == format!("{rows} {cols}")
        });
    }

    /// Waits until the screen content satisfies `fits`.
    ///
    /// # Panics
    /// If it does not in time, with the screen content.
    pub fn wait(&self, what: &str, fits: impl Fn(&str) -> bool) {
        let mut last = String::new();
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(what, PATIENCE, || {
                last = self.shown();
                fits(&last)
            });
        }));
        assert!(waited.is_ok(), "{what}; this is shown:\n{last}\n---");
    }

    /// Waits until the screen shows this text.
    pub fn see(&self, text: &str) {
        self.wait(&format!("`{text}` is shown"), |shown| shown.contains(text));
    }

    /// Waits until a line is exactly this text.
    pub fn see_line(&self, line: &str) {
        self.wait(&format!("the line `{line}`"), |shown| shown.lines().any(|one| one.trim_end() == line));
    }

    /// Clears the screen and its history, regardless of the running program, and then types keys.
    pub fn clear_and(&self, keys: &[&str]) {
        // A reset of the terminal itself, which is no input for the program.
        done(&mut self.tmux(&["send-keys", "-R", ";", "clear-history"]));
        self.keys(keys);
    }

    /// Clears the screen from within a shell.
    pub fn clear(&self) {
        self.keys(&["C-l"]);
        self.wait("the screen is cleared", |shown| shown.trim_end().lines().count() <= 1);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A server that has ended cannot be killed.
        let _ = self.tmux(&["kill-server"]).output();
    }
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

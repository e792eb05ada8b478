//! One job, from an accepted grant to its result.
//!
//! `Accepted -> Launching -> Running -> Ending -> Ended`, in one task that is never aborted. The first cause that ends
//! the job wins. All processes of the job have ended when its result is known. Must not decide whether the job may run,
//! and must not report.

mod capture;
mod disk;
mod disk_space;
mod edit;
mod handle;
mod preview;
mod refusals;
mod result;
mod rules;
mod running;
mod snapshot;
mod tools;

use std::{
    ffi::OsString,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::PathBuf,
    sync::Arc,
};

use airlock_domain::{ExecutionResult, Grant, Requirement, Signal, Started as Began};
use airlock_sandbox::{
    HOME, LaunchSpec, Mask, MaskOrigin, Network, Profile, Refusals, Running, Shape,
    env::outside,
    protect::{Grounds, Use, planted},
};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};
use tracing::{Instrument, Span};

use crate::{
    egress::{Connections, Egress},
    files,
    guard::Watch,
    secrets::Replacer,
    spool::{Drain, JobSpool, Stop, StreamWriter, Writers},
    telemetry,
};

use disk::DiskWatch;
use edit::EditRun;
use result::Failure;
use running::RunningCommand;

pub(crate) use disk_space::{DISK_SHORT, DiskSpace};
pub(crate) use handle::{Handle, Job};
pub(crate) use preview::EditPreviews;
pub(crate) use result::{inline, lost};
pub(crate) use snapshot::{SnapshotMaker, search_path};
pub(crate) use tools::{Tools, environment};

/// Runs the job to its end. Calls `running` when the command has started.
pub(crate) async fn run(tools: Arc<Tools>, job: Arc<Job>, running: impl FnOnce()) -> ExecutionResult {
    if let Some(cause) = job.handle.switch.cause() {
        return ExecutionResult::not_started(cause);
    }
    let span = telemetry::run_span(&job.traceparent);
    let place = telemetry::traceparent(&span).unwrap_or_else(|| job.traceparent.clone());
    let limits_not_enforced = tools.not_enforced(&job.grant);
    let started = {
        let job = Arc::clone(&job);
        spawn_blocking(move || telemetry::starting(&job.traceparent, || launch(&tools, &job, &place))).await
    };
    let mut landlock_abi = 0;
    let result = match started {
        Ok(Ok(mut started)) => {
            landlock_abi = started.running.landlock.abi;
            // This precedes the report of the start, so that no writer finds the input closed.
            open_input(&mut started, &job).await;
            let signals = job.handle.signals();
            running();
            let result = attend(started, signals, &job).instrument(span.clone()).await;
            if let Some(input) = &job.handle.input {
                input.close().await;
            }
            job.handle.set_terminal(None);
            result
        }
        Ok(Err(failure)) => result::not_launched(&job, failure),
        Err(panicked) => result::internal(&job, &panicked),
    };
    let result = ExecutionResult {
        scrubbed_env: job.scrubbed.removed.clone(),
        limits_not_enforced,
        unsandboxed: job.grant.unsandboxed && result.started != Began::No,
        landlock_abi,
        snapshot_problem: job.missed_snapshot(),
        network_problem: job.network.problem(),
        ..result
    };
    telemetry::ended(&span, &result);
    result.violations.iter().for_each(|violation| telemetry::violation(&span, violation));
    result
}

/// A job with a running command.
struct Started {
    running: Running,
    watch: Watch,
    spool: Arc<JobSpool>,
    writers: Writers,
    /// `None` if the command cannot write.
    disk: Option<DiskWatch>,
    /// `None` if the command has no network access.
    egress: Option<Egress>,
    /// `None` if the command runs outside the sandbox.
    refusals: Option<Refusals>,
    /// `None` if the job is not an approved file edit.
    edit: Option<EditRun>,
}

/// Starts the command. Blocks until the command runs, or has definitely not started.
fn launch(tools: &Tools, job: &Job, place: &str) -> Result<Started, Failure> {
    let Job { grant, profile, scrubbed, session, .. } = job;
    let cap = grant.profile.limits.output_bytes;
    let (spool, writers) =
        tools.spools.create(job.id, cap, grant.command.separate_stderr, grant.command.inline_limit)?;
    let is_edit = grant.decided.edit.is_some();
    let network = if grant.read_only || is_edit { Network::Empty } else { Network::SessionLoopback };
    let mut watch = Watch::begin(session, job.id, grant)?;
    let open = session;
    let (profile, mut masks) = rules::resolve(profile, session, watch.still())?;
    let mut session = session.for_launch(&tools.launcher, network == Network::SessionLoopback)?;
    let of_rules = masks.len();
    // After the rules' masks, so that protected names win if both name the same path.
    masks.extend(watch.masks());
    let of_names = masks.len();
    // Last, so that they apply to every path that the profile's rules show.
    masks.extend(planted_masks(job, &profile, watch.still())?);
    let place = Some(place).filter(|place| !place.is_empty());
    let edit = EditRun::begin(job, &masks)?;
    if let Some(edit) = &edit {
        edit.confine(&mut session, &mut masks);
    }
    let egress = match &job.handle.network {
        Some(layers) if !is_edit => {
            let allowed = (layers, &grant.profile.inspection);
            let ended = job.handle.switch.ended();
            Some(Egress::open(&tools.launcher, &tools.proxy, allowed, &session, ended)?)
        }
        _ => None,
    };
    let mut env = environment(grant, &profile, &scrubbed.passed, place)?;
    if let Some(egress) = &egress {
        env = egress.announce(grant, env)?;
    }
    let command = match &grant.decided.edit {
        Some(edit) => preview::of_copies(edit, &grant.command)?,
        None => grant.command.clone(),
    };
    let spec = LaunchSpec {
        snapshot: job.snapshot.clone().filter(|_| !is_edit),
        certificates: egress.as_ref().and_then(Egress::certificates),
        prefix: grant.profile.shell_prefix.iter().map(|word| word.clone().into_bytes()).collect(),
        env,
        shape: Shape { read_only: grant.read_only, network },
        trusted: grant.requires.contains(&Requirement::TrustedPath),
        masks,
        ..LaunchSpec::of(&command)
    };
    let limits = tools.limits(grant);
    let disk =
        (!grant.read_only).then(|| DiskWatch::begin(&tools.workspace, &tools.disk_space, open, job.id));
    // The grant requests this explicitly, within the floor. It is never a fallback for a failed sandbox.
    let (running, refusals) = if grant.unsandboxed {
        let env = outside(spec.env.clone(), &session.directories);
        let spec = LaunchSpec { env, masks: Vec::new(), ..spec };
        (tools.launcher.start_outside(&session, &limits, &spec)?, None)
    } else {
        let running = tools.launcher.start(&profile, &session, &limits, &spec)?;
        let masks = with_origins(spec.masks, of_rules, of_names);
        let refusals = Refusals::new(&profile, spec.shape, masks, running.landlock);
        (running, Some(refusals))
    };
    Ok(Started { running, watch, spool, writers, disk, egress, refusals, edit })
}

/// Adds the origin of each mask: path rules up to one position, protected names up to another, then planted programs.
fn with_origins(masks: Vec<Mask>, of_rules: usize, of_names: usize) -> Vec<(MaskOrigin, Mask)> {
    let origin = |position| match position {
        position if position < of_rules => MaskOrigin::PathRules,
        position if position < of_names => MaskOrigin::ProtectedNames,
        _ => MaskOrigin::Planted,
    };
    masks.into_iter().enumerate().map(|(position, mask)| (origin(position), mask)).collect()
}

/// Makes the command's pipe or terminal available to writers. If it cannot be used, it is closed, and the command's
/// input ends at once.
async fn open_input(started: &mut Started, job: &Job) {
    let (Some(input), Some(pipe)) = (&job.handle.input, started.running.streams.stdin.take()) else { return };
    let opened = match job.grant.command.pty.as_ref().map(|_| pipe.try_clone()).transpose() {
        Ok(terminal) => {
            job.handle.set_terminal(terminal);
            input.open(pipe).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = opened {
        tracing::error!(execution = %job.id, %error, "cannot write a command's input");
    }
}

/// Waits until a running command and all its processes have ended and its output is in the spool.
async fn attend(started: Started, signals: mpsc::Receiver<Signal>, job: &Arc<Job>) -> ExecutionResult {
    let Started { running, watch, spool, writers, disk, egress, refusals, edit } = started;
    let serving = egress.map(|egress| egress.serve(&running.control, job.handle.questions.clone()));
    let stop = match Stop::new() {
        Ok(stop) => stop,
        Err(error) => return result::no_drain(job, &spool, &error),
    };
    let drain = |pipe, writer| spawn_drain(pipe, writer, &stop, job);
    let stdout = drain(running.streams.stdout, writers.stdout);
    let stderr = running.streams.stderr.zip(writers.stderr).map(|(pipe, writer)| drain(pipe, writer));
    let waiter = running.waiter;
    let mut wait = spawn_blocking(move || waiter.wait());
    let disk = disk.map(Arc::new);
    let life = RunningCommand {
        control: &running.control,
        job,
        spool: &spool,
        started: running.started_at,
        disk: disk.as_ref(),
    };
    let ended = life.until_ended(&mut wait, signals).await;
    // No process of the command remains. Its access ends before anybody learns of its end.
    let connections = match serving {
        Some(serving) => serving.end().await,
        None => Connections::default(),
    };
    stop.signal();
    for drain in [Some(stdout), stderr].into_iter().flatten() {
        if let Err(panicked) = drain.await {
            return result::internal(job, &panicked);
        }
    }
    match ended {
        Ok(ended) => {
            let (job, spool) = (Arc::clone(job), Arc::clone(&spool));
            let next = Arc::clone(&job);
            let whole = spawn_blocking(move || {
                let refused = refusals::violations(&job, &spool, &ended, refusals.as_ref());
                result::of(&job, &spool, (ended, edit), watch, (disk.as_deref(), refused))
            });
            let whole = whole.await;
            // Not awaited: the next command either finds the result or searches itself.
            drop(spawn_blocking(move || rules::look_ahead(&next)));
            let whole = whole.unwrap_or_else(|panicked| result::internal_text(&panicked));
            result::with_connections(whole, connections)
        }
        Err(panicked) => result::internal(job, &panicked),
    }
}

fn spawn_drain(pipe: OwnedFd, writer: StreamWriter, stop: &Stop, job: &Job) -> JoinHandle<()> {
    let redactor = job.replacer.as_ref().map(Replacer::redactor);
    let drain = Drain { pipe, writer, stop: stop.clone(), redactor };
    let (handle, id) = (Arc::clone(&job.handle), job.id);
    let span = telemetry::spool_span(&job.traceparent);
    spawn_blocking(move || {
        let _entered = span.entered();
        drain.run(|error| {
            tracing::error!(execution = %id, %error, "cannot keep output; the command is ended");
            handle.set_unkept(error.to_string());
            let cause = result::spool_cause(&error);
            telemetry::failed(&Span::current(), &cause);
            handle.switch.end(cause);
        });
    })
}

/// Programs other than git that only read and run git.
const GIT_USERS: [&[u8]; 1] = [b"gh"];

/// Returns masks for the planted programs. `still` numbers the state of the session's directories, if no other process
/// can change them. For a command outside the sandbox, planted programs are moved into quarantine instead. Blocks while
/// it reads the session's repositories.
///
/// # Errors
/// If the planted programs cannot be determined, covered or moved.
///
/// Hides programs that commands have planted in repositories from certain launches. These are read-only commands that
/// use git, commands outside the sandbox, and commands with a grant that requires a trusted path.
///
/// A command that a person or the profile allowed to run unrestricted in the sandbox sees all files. These include
/// hooks that the agent installed.
fn planted_masks(job: &Job, profile: &Profile, still: Option<u64>) -> Result<Vec<Mask>, Failure> {
    let grant = &job.grant;
    let uses_git = uses_git(grant);
    let is_held = if grant.read_only {
        uses_git
    } else {
        grant.unsandboxed || grant.requires.contains(&Requirement::TrustedPath)
    };
    if !is_held {
        return Ok(Vec::new());
    }
    let session = &job.session;
    let workspace = &session.guard().workspace;
    let suspects = workspace.with(|guard, directory| guard.suspects(directory, still.is_some()))?;
    let Some(suspects) = suspects else { return Ok(Vec::new()) };
    let paths = if grant.unsandboxed {
        vec![PathBuf::from(HOME), PathBuf::from("/tmp")]
    } else if uses_git {
        named(grant)
    } else {
        Vec::new()
    };
    let rebases = grant.decided.git.iter().any(|used| used.starts_with("rebase"));
    let command = Use { paths: &paths, rebases: rebases && !grant.read_only, outside: grant.unsandboxed };
    let grounds = Grounds::open(session.directories(), profile).map_err(Failure::Planted)?;
    let found = files::as_session(session.owner(), || planted(&grounds, &suspects, command));
    let found = found.map_err(|_| Failure::Rights)?.map_err(Failure::Planted)?;
    if grant.unsandboxed {
        let id = job.id.to_string();
        workspace.with(|guard, directory| guard.take_away(directory, &found, &id))?;
        return Ok(Vec::new());
    }
    match &found.open {
        Some(cause) if uses_git => Err(Failure::Open(cause.clone())),
        _ => Ok(found.masks()),
    }
}

fn uses_git(grant: &Grant) -> bool {
    let name = |program: &'_ Vec<u8>| {
        program.rsplit(|byte| *byte == b'/').next().is_some_and(|name| GIT_USERS.contains(&name))
    };
    !grant.decided.git.is_empty() || grant.decided.programs.iter().any(name)
}

/// Returns the command's directory and the paths that it names.
fn named(grant: &Grant) -> Vec<PathBuf> {
    let paths = grant.decided.paths.iter().map(|used| &used.path);
    let all = std::iter::once(&grant.command.directory).chain(paths);
    all.map(|path| PathBuf::from(OsString::from_vec(path.clone()))).collect()
}

//! The description of the output in a result, progress while a command runs, and exact bytes of any kind.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs::File,
    io::Read as _,
    time::{Duration, SystemTime},
};

use airlock_client::{Client, Events, From, OutputPiece, Selection, v1};
use airlock_tests::{
    reader::{Story, cause, ended, exit_code, read_until, replay, run, spec, spec_in},
    site::{Extras, Site, sha256},
};

const SECRET: &str = "Zq7-hunter2-of-the-test";

/// The run time after which progress is reported.
const TOLD_AFTER: Duration = Duration::from_secs(2);

/// Returns the run time of a command, as the server recorded it.
fn lasted(story: &Story) -> Duration {
    let times = story.end.as_ref().unwrap().times.unwrap();
    let time = |at: Option<prost_types::Timestamp>| SystemTime::try_from(at.unwrap()).unwrap();
    time(times.ended).duration_since(time(times.started)).unwrap()
}

fn inline(story: &Story) -> v1::InlineOutput {
    story.end.clone().unwrap().result.unwrap().inline.unwrap()
}

fn text(story: &Story) -> v1::InlineText {
    inline(story).stdout.unwrap()
}

/// Returns all bytes of standard output from ReadOutput.
async fn read_output(client: &Client, id: &str) -> Vec<u8> {
    let mut parts = client.read_output(id, v1::OutputStream::Stdout, Selection::All);
    let mut bytes = Vec::new();
    while let Some(part) = parts.next().await.unwrap() {
        if let OutputPiece::Bytes { data, .. } = part {
            bytes.extend_from_slice(&data);
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_holds_clean_text_hints_and_images_and_lists_do_not() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let command = "printf '\\e[31mred\\e[0m\\n 10%%\\r100%%\\n<airlock-hint v=\"1\"/>\\n'; \
                   echo data:image/gif,base64 data:image/gif\\;base64,R0lGODlhAgADAAAAAAAAAAAAAAAA";
    let story = run(&client, spec(command)).await.unwrap();
    assert_eq!(story.exit_code(), Some(0));
    let it = inline(&story);
    let shown = it.stdout.clone().unwrap();
    assert!(shown.whole && !shown.invalid_utf8, "{shown:?}");
    assert!(shown.text.starts_with("red\n100%\ndata:image/gif,base64"), "{shown:?}");
    assert_eq!((shown.total_bytes, shown.total_lines), (story.stdout.len() as u64, Some(4)));
    assert_eq!(it.hints, ["<airlock-hint v=\"1\"/>"]);
    assert!(String::from_utf8_lossy(&story.stdout).contains("\u{1b}[31mred"), "the stream keeps all of it");
    assert!(String::from_utf8_lossy(&story.stdout).contains("<airlock-hint v=\"1\"/>"));
    let [image] = it.images.as_slice() else { panic!("{it:?}") };
    assert_eq!(
        (image.media_type.as_str(), image.width, image.height, image.data_uri),
        ("image/gif", 2, 3, true)
    );

    let id = story.end.unwrap().execution_id;
    let full = client.execution(&id).await.unwrap();
    assert_eq!(full.result.unwrap().inline, Some(it.clone()), "the server keeps it");
    let waited = ended(&client, &id).await;
    assert_eq!(waited.result.unwrap().inline, Some(it));
    let again = replay(&client, &id).await.unwrap();
    assert_eq!(text(&again), shown);

    let long = v1::ExecutionSpec { inline_limit: 10, ..spec("seq 1 100000") };
    let shown = text(&run(&client, long).await.unwrap());
    assert!(!shown.whole && shown.text.starts_with("1\n2\n") && shown.text.ends_with("\n100000\n"));
    let mark = format!("[... {} bytes truncated ...]", shown.truncated_bytes);
    assert!(shown.text.contains(&mark) && shown.truncated_bytes > 500_000, "{}", shown.text);
    assert_eq!(shown.total_lines, Some(100_000));

    let apart = v1::ExecutionSpec { separate_stderr: true, ..spec("echo out; printf '\\377' >&2") };
    let it = inline(&run(&client, apart).await.unwrap());
    assert_eq!(it.stdout.unwrap().text, "out\n");
    assert_eq!(it.stderr.map(|it| (it.text, it.invalid_utf8)), Some(("\u{fffd}".to_owned(), true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_killed_runners_command_is_reported_after_its_restart() {
    let site = Site::new();
    let (_server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let id = client.start(spec("printf '\\e[1mso far\\e[0m\\n'; sleep 1000")).await.unwrap().execution_id;
    read_until(&mut client.attach(&id, From::Beginning), &mut Story::default(), "so far").await;
    runner.kill();
    let _runner = site.runner(&[]);
    let end = ended(&client, &id).await;
    assert_eq!(cause(&end), v1::CauseCode::RunnerLost);
    let shown = end.result.unwrap().inline.unwrap().stdout.unwrap();
    assert_eq!((shown.text.as_str(), shown.whole, shown.total_lines), ("so far\n", true, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_every_kind_arrive_as_they_were_written() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let mut bytes: Vec<u8> = (0..=255).collect();
    File::open("/dev/urandom").unwrap().take(5 << 20).read_to_end(&mut bytes).unwrap();
    std::fs::write(site.base().join("bytes"), &bytes).unwrap();
    let sum = sha256(&bytes);
    let story =
        run(&client, v1::ExecutionSpec { base: "base".to_owned(), ..spec("cat bytes") }).await.unwrap();
    assert_eq!((story.exit_code(), sha256(&story.stdout)), (Some(0), sum.clone()), "Run");
    assert!(text(&story).invalid_utf8);
    let id = story.end.as_ref().unwrap().execution_id.clone();
    assert_eq!(sha256(&replay(&client, &id).await.unwrap().stdout), sum, "Attach");
    assert_eq!(sha256(&read_output(&client, &id).await), sum, "ReadOutput");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_the_profile_names_are_replaced_for_every_reader() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), format!("{SECRET}\n")).unwrap();
    let profile =
        |names: &str| format!("name = \"{{name}}\"\nextends = \"sandboxed\"\nsecrets = [{names}]\n");
    let named = |name: &str, names: &str| (name.to_owned(), profile(names).replace("{name}", name));
    let site = Site::with(Extras {
        profiles: vec![named("deploys", "\"DEPLOY_TOKEN\""), named("other", "\"NOT_HERE\"")],
        runner_tables: format!("[secrets.files]\nDEPLOY_TOKEN = \"{}\"\n", secret.path().display()),
        ..Extras::default()
    });
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    // The secret does not come from the runner; the command has it from another source. Progress is reported before
    // and after it is written.
    let bytes: String = SECRET.chars().map(|byte| format!("printf %s {byte}; ")).collect();
    let until = |name: &str| format!("until [ -e {name} ]; do sleep 0.1; done; ");
    let command = until("one") + &bytes + &until("two");
    let wanted = v1::SessionServiceCreateRequest { profile: "deploys".to_owned(), ..Default::default() };
    let session = client.create_session(wanted).await.unwrap().session_id;
    let (mut events, mut story) = (client.run(spec_in(&session, &command)), Story::default());
    for (name, bytes) in [("one", 0), ("two", 1)] {
        while story.progress.last().is_none_or(|told| !told.complete || told.total_bytes < bytes) {
            story.take(events.next().await.unwrap().unwrap());
        }
        let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, &format!("touch {name}")) };
        run(&client, go).await.unwrap();
    }
    while let Some(event) = events.next().await.unwrap() {
        story.take(event);
    }
    let seen = String::from_utf8(story.stdout.clone()).unwrap();
    assert!(seen.ends_with("[secret DEPLOY_TOKEN]") && !seen.contains("hunt"), "{seen}");
    let shown = text(&story);
    assert_eq!(shown.text, seen);
    assert_eq!(shown.total_bytes, seen.len() as u64, "offsets count the bytes after the replacement");
    assert!(!format!("{:?}", story.progress).contains("hunt"), "{:?}", story.progress);
    let id = story.end.unwrap().execution_id;
    assert_eq!(read_output(&client, &id).await, seen.as_bytes());

    let other = v1::ExecutionSpec { profile: "other".to_owned(), ..spec("echo never") };
    let refused = run(&client, other).await.unwrap();
    let end = refused.end.unwrap();
    assert_eq!(cause(&end), v1::CauseCode::Refused);
    let cause = end.result.unwrap().cause.unwrap();
    assert!(cause.message.contains("no secret `NOT_HERE`"), "{cause:?}");
    let plain = run(&client, spec(&format!("echo {SECRET}"))).await.unwrap();
    assert_eq!(plain.stdout, format!("{SECRET}\n").as_bytes(), "only where a profile names it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_runs_is_told_of_and_one_that_is_short_is_not() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let short = run(&client, spec("echo short")).await.unwrap();
    // The server's own clock counts, which may be longer than the command on a busy host.
    let ran = lasted(&short);
    assert!(short.progress.is_empty() || ran >= TOLD_AFTER, "it ran for {ran:?}: {:?}", short.progress);

    let session = client.create_session(Default::default()).await.unwrap().session_id;
    let long = spec_in(&session, "seq 1 7; printf '\\e[2Kpart'; until [ -e go ]; do sleep 0.1; done");
    let (mut events, mut story) = (client.run(long), Story::default());
    while story.progress.len() < 2 || story.progress.last().is_none_or(|told| told.total_lines != 8) {
        story.take(events.next().await.unwrap().unwrap());
    }
    let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "touch go") };
    run(&client, go).await.unwrap();
    while let Some(event) = events.next().await.unwrap() {
        story.take(event);
    }
    let told = story.progress.last().expect("it ran for more than two seconds");
    assert_eq!(told.last_lines, ["4", "5", "6", "7", "part"]);
    assert_eq!((told.total_bytes, told.total_lines, told.complete), (22, 8, true));
    let elapsed = |one: &v1::Progress| Duration::try_from(one.elapsed.unwrap()).unwrap();
    assert!(story.progress.iter().all(|one| elapsed(one) >= TOLD_AFTER));
    assert!(story.progress.windows(2).all(|two| elapsed(&two[0]) < elapsed(&two[1])));
    let again = replay(&client, &story.end.unwrap().execution_id).await.unwrap();
    assert_eq!((again.stdout, again.progress), (story.stdout, Vec::new()), "it is not part of the history");
}

/// Takes some bytes and then waits, like a reader of a thousand bytes per second.
async fn take_slowly(events: &mut Events, story: &mut Story, bytes: usize) {
    let until = story.stdout.len() + bytes;
    while story.stdout.len() < until && story.end.is_none() {
        let Some(event) = events.next().await.unwrap() else { return };
        story.take(event);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_up_neither_the_command_nor_another_nor_a_cancel() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let id = client.start(spec("seq 1 3000000; echo the end")).await.unwrap().execution_id;
    let endless = client.start(spec("yes 'no end to this'")).await.unwrap().execution_id;
    let (slow_client, other_client) = (site.client().await, site.client().await);
    let (mut slow, mut story) = (slow_client.attach(&id, From::Beginning), Story::default());
    let (mut slow_too, mut story_too) = (slow_client.attach(&endless, From::Beginning), Story::default());
    take_slowly(&mut slow, &mut story, 1000).await;
    take_slowly(&mut slow_too, &mut story_too, 1000).await;

    let fast = replay(&other_client, &id).await.unwrap();
    assert!(fast.stdout.ends_with(b"3000000\nthe end\n"), "the fast one has all of it");
    other_client.cancel(&endless).await.unwrap();
    assert_eq!(cause(&ended(&other_client, &endless).await), v1::CauseCode::Cancelled);
    take_slowly(&mut slow, &mut story, 1000).await;
    assert!(
        story.end.is_none() && story.stdout.len() < fast.stdout.len() / 2,
        "the slow reader has not finished"
    );
    let command = client.execution(&id).await.unwrap();
    assert_eq!(exit_code(&command), Some(0), "the command's end did not wait for a reader");

    while let Some(event) = slow.next().await.unwrap() {
        story.take(event);
    }
    assert_eq!(sha256(&story.stdout), sha256(&fast.stdout), "and finally gets every byte once");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_get_the_modes_that_the_requested_mask_leaves() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    for (asked, told, seen) in [("", "022", "644\n"), ("27", "027", "640\n"), ("000", "000", "666\n")] {
        let look = v1::ExecutionSpec { umask: asked.to_owned(), ..spec("touch f; stat -c %a f") };
        let story = run(&client, look).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&story.stdout), seen, "{asked}");
        let id = story.end.unwrap().execution_id;
        assert_eq!(client.execution(&id).await.unwrap().umask, told, "the execution shows it");
    }
}

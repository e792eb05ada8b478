//! The fields of a result that the server derives: the meaning of the exit code, whether output was expected,
//! and whether the execution was interrupted. This module decides nothing and stores nothing.

mod notes;

use airlock_proto::v1::{self, CauseCode, cause::Detail};

/// Adds the derived fields to a result.
pub(crate) fn explain(result: &mut v1::Result, decision: Option<&v1::Decision>) {
    result.notes = notes::of(result, decision);
    let Some(cause) = &result.cause else { return };
    result.interrupted = matches!(cause.code(), CauseCode::Cancelled | CauseCode::TimedOut);
    let Some(decision) = decision else { return };
    result.no_output_expected = decision.no_output_expected;
    if let (CauseCode::Exited, Some(Detail::Exited(exited))) = (cause.code(), &cause.detail) {
        result.interpretation =
            u8::try_from(exited.code).ok().and_then(|code| interpretation(decision, code));
    }
}

fn interpretation(decision: &v1::Decision, code: u8) -> Option<v1::Interpretation> {
    let command = |index: &u32| decision.commands.get(usize::try_from(*index).ok()?);
    let words = |command: &v1::FoundCommand| -> Vec<Option<Vec<u8>>> {
        command.argv.iter().map(|word| word.bytes().map(<[u8]>::to_vec)).collect()
    };
    let endings: Vec<Vec<Option<Vec<u8>>>> = decision.endings.iter().filter_map(command).map(words).collect();
    let borrowed: Vec<Vec<Option<&[u8]>>> =
        endings.iter().map(|argv| argv.iter().map(Option::as_deref).collect()).collect();
    let meaning = airlock_policy::exit_meaning(&borrowed, code)?;
    Some(v1::Interpretation { text: meaning.text, failure: meaning.is_failure })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(code: CauseCode, detail: Option<Detail>) -> v1::Result {
        v1::Result {
            cause: Some(v1::Cause { code: code.into(), detail, ..Default::default() }),
            ..Default::default()
        }
    }

    fn grep() -> v1::Decision {
        let argv = vec![v1::Word::known("grep"), v1::Word::default()];
        v1::Decision {
            commands: vec![v1::FoundCommand { argv, ..Default::default() }],
            endings: vec![0],
            no_output_expected: true,
            ..Default::default()
        }
    }

    #[test]
    fn an_exit_code_is_explained_by_the_program_that_gave_it() {
        let mut exited = result(CauseCode::Exited, Some(Detail::Exited(v1::cause::Exited { code: 1 })));
        explain(&mut exited, Some(&grep()));
        let told = exited.interpretation.clone().unwrap();
        assert_eq!((&told.text[..], told.failure), ("grep: no line matched", false));
        assert!(exited.no_output_expected && !exited.interrupted);
        // An index from a later version, or from a manual change of the store.
        explain(&mut exited, Some(&v1::Decision { endings: vec![7], ..grep() }));
        assert_eq!(exited.interpretation, None);
    }

    #[test]
    fn only_who_was_stopped_was_interrupted() {
        for (code, is_interrupted) in [
            (CauseCode::Cancelled, true),
            (CauseCode::TimedOut, true),
            (CauseCode::Signaled, false),
            (CauseCode::RunnerLost, false),
        ] {
            let mut ended = result(code, None);
            explain(&mut ended, None);
            assert_eq!((ended.interrupted, ended.interpretation), (is_interrupted, None), "{code:?}");
        }
    }
}

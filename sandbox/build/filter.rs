//! Compiles the lists to one program for the kernel.
//!
//! The architecture is compared first: another one ends the process. Calls that depend on arguments come next. The
//! kernel caches the answers for all other calls when it loads the program. The refused calls follow, then the allowed
//! ones. Every other number returns `ENOSYS`. This includes the numbers of x32, which have a separate bit.

use std::str::FromStr;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, sock_filter,
};

use crate::lists::{Checked, Condition, Given, Lists};

/// An architecture that a filter can be compiled for.
pub(crate) struct Arch {
    /// The compiler's name of it.
    pub(crate) name: &'static str,
    /// The kernel's number of it in a filter, from `linux/audit.h`.
    audit: u32,
    number: fn(&str) -> Option<u32>,
}

pub(crate) const ARCHS: [Arch; 2] = [
    Arch { name: "x86_64", audit: 0xc000_003e, number: number_on_x86_64 },
    Arch { name: "aarch64", audit: 0xc000_00b7, number: number_on_aarch64 },
];

fn number_on_x86_64(call: &str) -> Option<u32> {
    syscalls::x86_64::Sysno::from_str(call).ok().and_then(|number| u32::try_from(number.id()).ok())
}

fn number_on_aarch64(call: &str) -> Option<u32> {
    syscalls::aarch64::Sysno::from_str(call).ok().and_then(|number| u32::try_from(number.id()).ok())
}

const LOAD: u16 = 0x20;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP: u16 = 0x05;
const RETURN: u16 = 0x06;
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
/// The kernel's limit for the length of a program.
const MAX_LENGTH: usize = 4096;

/// Returns the program in the kernel's byte format.
pub(crate) fn compile(lists: &Lists, arch: &Arch, given: Given) -> Vec<u8> {
    let mut program = vec![
        statement(LOAD, ARCH_AT),
        branch(arch.audit, 1, 0),
        answer(SeccompAction::KillProcess),
        statement(LOAD, NUMBER_AT),
    ];
    for entry in lists.checked.iter().filter(|entry| on(arch, entry.only.as_deref())) {
        program.extend(check(lists, arch, entry, given));
    }
    for group in lists.refused.iter().filter(|group| on(arch, group.only.as_deref())) {
        for call in &group.calls {
            program.push(branch(number(arch, call), 0, 1));
            program.push(answer(if group.report { watched(&group.errno) } else { errno(&group.errno) }));
        }
    }
    for group in lists.allow.iter().filter(|group| on(arch, group.only.as_deref())) {
        for call in &group.calls {
            program.push(branch(number(arch, call), 0, 1));
            program.push(answer(SeccompAction::Allow));
        }
    }
    program.push(answer(errno("ENOSYS")));
    assert!(program.len() <= MAX_LENGTH, "the filter for {} is too long", arch.name);
    program.iter().flat_map(bytes).collect()
}

/// Compiles the check of one call. It always ends with an answer. It may therefore overwrite the loaded call number.
fn check(lists: &Lists, arch: &Arch, entry: &Checked, given: Given) -> BpfProgram {
    let mut rules = BpfProgram::new();
    for alternative in entry.when.iter().filter(|alternative| alternative.counts(given)) {
        for conditions in combinations(lists, &alternative.args) {
            let rule = SeccompRule::new(conditions).expect("an alternative has conditions");
            // If the rule does not hold, it jumps over the instruction that follows it.
            rules.extend(BpfProgram::from(rule));
            rules.push(answer(SeccompAction::Allow));
        }
    }
    rules.push(answer(errno(&entry.otherwise)));
    let length = u32::try_from(rules.len()).expect("a short program");
    let mut part = vec![branch(number(arch, &entry.call), 1, 0), statement(JUMP, length)];
    part.extend(rules);
    part
}

/// Returns each combination of one value per condition.
fn combinations(lists: &Lists, args: &[Condition]) -> Vec<Vec<SeccompCondition>> {
    let mut all = vec![Vec::new()];
    for condition in args {
        for value in &condition.is_not {
            let unlike = compare(condition.arg, SeccompCmpOp::Ne, lists.number(value));
            all.iter_mut().for_each(|conditions| conditions.push(unlike.clone()));
        }
        if condition.is.is_empty() {
            continue;
        }
        let operation = match &condition.mask {
            Some(mask) => SeccompCmpOp::MaskedEq(u64::from(lists.number(mask))),
            None => SeccompCmpOp::Eq,
        };
        let with = |conditions: &Vec<SeccompCondition>| {
            let values = condition.is.iter().map(|value| lists.number(value));
            let like = values.map(|value| compare(condition.arg, operation.clone(), value));
            like.map(|like| [conditions.clone(), vec![like]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

fn compare(arg: u8, operation: SeccompCmpOp, value: u32) -> SeccompCondition {
    SeccompCondition::new(arg, SeccompCmpArgLen::Dword, operation, u64::from(value))
        .expect("a call has six arguments")
}

fn on(arch: &Arch, only: Option<&str>) -> bool {
    only.is_none_or(|name| {
        assert!(ARCHS.iter().any(|arch| arch.name == name), "no architecture `{name}`");
        name == arch.name
    })
}

fn number(arch: &Arch, call: &str) -> u32 {
    (arch.number)(call).unwrap_or_else(|| panic!("no system call `{call}` on {}", arch.name))
}

fn errno(name: &str) -> SeccompAction {
    SeccompAction::Errno(error_number(name))
}

/// Returns the answer to a reported call. Without a tracer, the kernel refuses it with ENOSYS. The filter of process 1
/// selects the error, which takes precedence. The number is for readers of the filter only.
fn watched(name: &str) -> SeccompAction {
    SeccompAction::Trace(error_number(name))
}

fn error_number(name: &str) -> u32 {
    let number = match name {
        "EAFNOSUPPORT" => libc::EAFNOSUPPORT,
        "ENOSYS" => libc::ENOSYS,
        "EOPNOTSUPP" => libc::EOPNOTSUPP,
        "EPERM" => libc::EPERM,
        _ => panic!("no error `{name}`"),
    };
    number.unsigned_abs()
}

/// Returns one line for each reported call: its name, its number, its error, and the reason of its refusal.
pub(crate) fn reported(lists: &Lists, arch: &Arch) -> String {
    let groups = lists.refused.iter().filter(|group| group.report && on(arch, group.only.as_deref()));
    let lines = groups.flat_map(|group| {
        let (errno, why) = (error_number(&group.errno), &group.why);
        group.calls.iter().map(move |call| format!("{call} {} {errno} {why}\n", number(arch, call)))
    });
    lines.collect()
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn branch(k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: JUMP_IF_EQUAL, jt, jf, k }
}

fn answer(action: SeccompAction) -> sock_filter {
    statement(RETURN, u32::from(action))
}

/// Encodes an instruction. Both architectures are little-endian.
fn bytes(instruction: &sock_filter) -> [u8; 8] {
    let [code0, code1] = instruction.code.to_le_bytes();
    let [k0, k1, k2, k3] = instruction.k.to_le_bytes();
    [code0, code1, instruction.jt, instruction.jf, k0, k1, k2, k3]
}

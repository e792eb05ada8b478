//! The part of the classic BPF machine that Airlock's filters use. It does not depend on the compiler. An unsupported
//! instruction is an error.

/// The data of a call that a filter sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) arch: u32,
    pub(crate) number: u32,
    pub(crate) args: [u64; 6],
}

/// The kernel's reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allow,
    Errno(u32),
    KillProcess,
}

struct Instruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

fn instruction(program: &[u8], at: usize) -> Instruction {
    let bytes = &program[at * 8..at * 8 + 8];
    Instruction {
        code: u16::from_le_bytes([bytes[0], bytes[1]]),
        jt: bytes[2],
        jf: bytes[3],
        k: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    }
}

fn load(call: &Call, offset: u32) -> u32 {
    // struct seccomp_data: number, arch, instruction pointer (8 bytes), six arguments of 8 bytes, low half first.
    match offset {
        0 => call.number,
        4 => call.arch,
        16..64 => {
            let arg = call.args[usize::try_from((offset - 16) / 8).unwrap()];
            let half = if offset.is_multiple_of(8) { arg & 0xffff_ffff } else { arg >> 32 };
            u32::try_from(half).unwrap()
        }
        _ => panic!("a load from {offset}"),
    }
}

/// Runs a filter for a call.
pub(crate) fn run(program: &[u8], call: &Call) -> Verdict {
    assert_eq!(program.len() % 8, 0);
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let Instruction { code, jt, jf, k } = instruction(program, at);
        at += 1;
        let mut branch = |holds: bool| at += usize::from(if holds { jt } else { jf });
        match code {
            0x20 => accumulator = load(call, k),
            0x54 => accumulator &= k,
            0x05 => at += usize::try_from(k).unwrap(),
            0x15 => branch(accumulator == k),
            0x25 => branch(accumulator > k),
            0x35 => branch(accumulator >= k),
            0x06 => return verdict(k),
            _ => panic!("instruction {code:#x} at {at}"),
        }
    }
}

fn verdict(value: u32) -> Verdict {
    match (value & 0xffff_0000, value & 0xffff) {
        (0x7fff_0000, _) => Verdict::Allow,
        (0x0005_0000, errno) => Verdict::Errno(errno),
        (0x8000_0000, _) => Verdict::KillProcess,
        _ => panic!("an answer of {value:#x}"),
    }
}

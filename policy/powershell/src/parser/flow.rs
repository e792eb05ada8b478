//! Conditions, loops and the handling of errors.

use super::Parser;
use super::grammar::{Commands, Flow, Pipelines, Statements, Types};
use super::parts::Place;
use crate::token::{Keyword, Kind, Token};
use crate::tree::{Assignment, ConstructKind, Parse};

impl Flow for Parser<'_, '_> {
    fn if_statement(&mut self) -> Parse<()> {
        loop {
            condition(self)?;
            self.required_block()?;
            self.skip_lines()?;
            if self.take_if(Kind::Keyword(Keyword::ElseIf))?.is_some() {
                continue;
            }
            if self.take_if(Kind::Keyword(Keyword::Else))?.is_some() {
                self.required_block()?;
            }
            return Ok(());
        }
    }

    fn while_loop(&mut self) -> Parse<()> {
        condition(self)?;
        self.required_block()
    }

    fn do_loop(&mut self) -> Parse<()> {
        self.required_block()?;
        self.skip_lines()?;
        let token = self.next()?;
        match token.kind {
            Kind::Keyword(Keyword::While | Keyword::Until) => condition(self),
            _ => self.fault("missing_while", &token),
        }
    }

    fn for_loop(&mut self) -> Parse<()> {
        self.skip_lines()?;
        self.expect(Kind::LParen, "missing_parenthesis")?;
        self.deeper(|parser| {
            for _ in 0..2 {
                parser.skip_lines()?;
                parser.pipeline_chain()?;
                parser.take_if(Kind::Semi)?;
            }
            parser.skip_lines()?;
            parser.pipeline_chain()
        })?;
        self.skip_lines()?;
        self.expect(Kind::RParen, "missing_parenthesis")?;
        self.required_block()
    }

    fn for_each(&mut self) -> Parse<()> {
        self.skip_lines()?;
        self.expect(Kind::LParen, "missing_parenthesis")?;
        self.skip_lines()?;
        let variable = self.next()?;
        if !matches!(variable.kind, Kind::Variable | Kind::Splat) {
            return self.fault("missing_variable", &variable);
        }
        let span = self.place(&variable);
        let first = self.out.assignments.len();
        self.out.assignments.push(Assignment {
            variable: Some(variable.value),
            value: None,
            value_span: None,
            is_outermost: false,
            span,
        });
        self.skip_lines()?;
        self.expect(Kind::Keyword(Keyword::In), "missing_in")?;
        self.skip_lines()?;
        if self.deeper(Self::pipeline_chain)?.is_none() {
            return self.missing("missing_expression");
        }
        self.value_ends(first, first + 1, span.end);
        self.skip_lines()?;
        self.expect(Kind::RParen, "missing_parenthesis")?;
        self.required_block()
    }

    fn switch(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let mut has_value = false;
        while self.peek()? == Kind::Parameter {
            let flag = self.next()?;
            let name = flag.value.to_ascii_lowercase();
            let is = |flag: &str| flag.starts_with(&name);
            if ["regex", "wildcard", "exact", "casesensitive"].into_iter().any(is) {
                continue;
            }
            if !is("file") {
                return self.fault("unknown_flag", &flag);
            }
            self.skip_lines()?;
            if self.single_argument(Place::FileName)?.is_none() {
                return self.fault("missing_file_name", &flag);
            }
            has_value = true;
            let place = self.place(keyword);
            self.construct(ConstructKind::SwitchFile, None, place);
        }
        match self.peek()? {
            Kind::LParen if !has_value => condition(self)?,
            _ if has_value => {}
            _ => return self.missing("missing_condition"),
        }
        self.skip_lines()?;
        self.expect(Kind::LCurly, "missing_brace")?;
        self.deeper(switch_clauses)
    }

    fn try_statement(&mut self) -> Parse<()> {
        self.required_block()?;
        let mut handled = false;
        loop {
            self.skip_lines()?;
            if self.take_if(Kind::Keyword(Keyword::Catch))?.is_none() {
                break;
            }
            catch_types(self)?;
            self.required_block()?;
            handled = true;
        }
        if self.take_if(Kind::Keyword(Keyword::Finally))?.is_some() {
            self.required_block()?;
            handled = true;
        }
        if handled { Ok(()) } else { self.missing("missing_catch") }
    }

    fn trap(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        if self.attribute()?.is_some_and(|attribute| attribute.has_arguments) {
            return self.missing("missing_block");
        }
        let place = self.place(keyword);
        self.construct(ConstructKind::Trap, None, place);
        self.required_block()
    }

    fn data(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let name = self.simple_name()?;
        self.skip_lines()?;
        let name = name.map(|name| self.source(&name));
        if self.peek()? == Kind::Parameter {
            let flag = self.next()?;
            if !"supportedcommand".starts_with(&flag.value.to_ascii_lowercase()) {
                return self.fault("unknown_flag", &flag);
            }
            loop {
                self.skip_lines()?;
                if self.single_argument(Place::Name)?.is_none() {
                    return self.missing("missing_command");
                }
                if self.take_if(Kind::Comma)?.is_none() {
                    break;
                }
            }
        }
        let place = self.place(keyword);
        self.construct(ConstructKind::Data, name, place);
        self.required_block()
    }
}

/// Parses a pipeline in parentheses.
fn condition(parser: &mut Parser<'_, '_>) -> Parse<()> {
    parser.skip_lines()?;
    parser.expect(Kind::LParen, "missing_parenthesis")?;
    parser.skip_lines()?;
    if parser.deeper(Pipelines::pipeline_chain)?.is_none() {
        return parser.missing("missing_condition");
    }
    parser.skip_lines()?;
    parser.expect(Kind::RParen, "missing_parenthesis").map(|_| ())
}

fn switch_clauses(parser: &mut Parser<'_, '_>) -> Parse<()> {
    parser.skip_lines()?;
    loop {
        if parser.single_argument(Place::SwitchCondition)?.is_none() {
            return parser.missing("missing_condition");
        }
        parser.required_block()?;
        parser.skip_lines_and_semicolons()?;
        if parser.take_if(Kind::RCurly)?.is_some() {
            return Ok(());
        }
    }
}

fn catch_types(parser: &mut Parser<'_, '_>) -> Parse<()> {
    let mut after_comma = false;
    loop {
        parser.skip_lines()?;
        match parser.attribute()? {
            None if after_comma => return parser.missing("missing_type"),
            None => return Ok(()),
            Some(attribute) if attribute.has_arguments => return parser.missing("missing_block"),
            Some(_) => {}
        }
        parser.skip_lines()?;
        if parser.take_if(Kind::Comma)?.is_none() {
            return Ok(());
        }
        after_comma = true;
    }
}

//! The productions of PowerShell's grammar. They refer to one another, so each file implements its own and knows the others
//! from here.

use super::parts::{Attribute, Expr, Place};
use crate::source::Span;
use crate::token::Token;
use crate::tree::{Argument, Parse, Redirection};

/// Statements and blocks.
pub(super) trait Statements {
    /// Parses the whole text.
    fn script(&mut self) -> Parse<()>;

    /// Parses a script block up to its closing brace, or the text up to its end. Returns the place of that end.
    fn block_contents(&mut self, opening: Option<&Token>) -> Parse<Span>;

    /// Parses statements in braces that must be there.
    fn required_block(&mut self) -> Parse<()>;

    /// Parses one statement. Returns its place, or `None` if there is none.
    fn statement(&mut self) -> Parse<Option<Span>>;

    /// Parses `name`, or another expression in the place of a name. Returns whether there is one, and its constant
    /// text.
    fn label_or_key(&mut self) -> Parse<(bool, Option<String>)>;

    /// Takes the next token if it is a name.
    fn simple_name(&mut self) -> Parse<Option<Token>>;

    /// Parses statements in brackets, after the opening one.
    fn bracketed_statements(&mut self) -> Parse<Token>;
}

/// Statements that control the flow, after their keyword.
pub(super) trait Flow {
    fn if_statement(&mut self) -> Parse<()>;

    fn while_loop(&mut self) -> Parse<()>;

    fn do_loop(&mut self) -> Parse<()>;

    fn for_loop(&mut self) -> Parse<()>;

    fn for_each(&mut self) -> Parse<()>;

    fn switch(&mut self, keyword: &Token) -> Parse<()>;

    fn try_statement(&mut self) -> Parse<()>;

    fn trap(&mut self, keyword: &Token) -> Parse<()>;

    fn data(&mut self, keyword: &Token) -> Parse<()>;
}

/// Definitions and `using`, after their keyword.
pub(super) trait Definitions {
    fn function(&mut self, keyword: &Token) -> Parse<()>;

    /// Parses the declarations of parameters, up to the closing parenthesis.
    fn parameters(&mut self) -> Parse<()>;

    fn parameter(&mut self) -> Parse<bool>;

    fn class(&mut self, keyword: &Token) -> Parse<()>;

    fn enumeration(&mut self, keyword: &Token) -> Parse<()>;

    fn using(&mut self, keyword: &Token) -> Parse<()>;
}

/// Pipelines and redirections.
pub(super) trait Pipelines {
    /// Parses an assignment, or pipelines joined by `&&` and `||`. Returns `None` if there is nothing.
    fn pipeline_chain(&mut self) -> Parse<Option<Span>>;

    /// Parses one redirection. Returns its place.
    fn redirection(&mut self, token: &Token, found: &mut Vec<Redirection>) -> Parse<Span>;
}

/// Commands and their arguments.
pub(super) trait Commands {
    /// Parses a command. Returns its place, or `None` if there is none.
    fn command(&mut self, piped: bool) -> Parse<Option<Span>>;

    /// Parses an argument outside a command's list of elements.
    fn single_argument(&mut self, place: Place) -> Parse<Option<Argument>>;

    /// Parses an argument that starts with this token, with those after commas. Returns `None` if it cannot start one.
    fn argument(&mut self, place: Place, first: Token) -> Parse<Option<Argument>>;

    /// Parses the variables and expressions in a string. Returns the constant text before the first of them.
    fn expand(&mut self, token: &Token) -> Parse<String>;
}

/// Expressions with operators.
pub(super) trait Expressions {
    /// Parses an expression. Returns `None` if there is none. `in_ternary` ends numbers at `?` and `:`.
    fn expression(&mut self, in_ternary: bool) -> Parse<Option<Expr>>;

    /// Parses an expression with operators of one operand.
    fn unary(&mut self, in_ternary: bool) -> Parse<Option<Expr>>;

    /// Records that the text assigns to this expression, with `=` if it is plain.
    fn assigned(&mut self, target: &Expr, plain: bool) -> Parse<()>;
}

/// Values without operators.
pub(super) trait Primaries {
    /// Parses a value and, if they are wanted, the accesses to its members. Returns `None` if there is no value.
    fn primary(&mut self, with_members: bool) -> Parse<Option<Expr>>;

    fn variable(&mut self, token: Token, with_members: bool) -> Parse<Expr>;

    /// Parses a script block as a value, after its opening brace.
    fn script_block(&mut self, opening: &Token) -> Parse<Expr>;
}

/// Accesses to members and elements.
pub(super) trait Members {
    /// Parses the accesses that follow a value directly.
    fn members_if_any(&mut self, value: Expr) -> Parse<Expr>;

    fn member_operator(&mut self) -> Parse<Option<Token>>;

    /// Parses accesses, of which the first operator is known.
    fn members(&mut self, first: Token, value: Expr, of_type: Option<&str>) -> Parse<Expr>;

    /// Parses arguments up to the closing bracket.
    fn argument_list(&mut self) -> Parse<(Vec<Argument>, Span)>;
}

/// Types and attributes.
pub(super) trait Types {
    /// Parses any number of types and attributes.
    fn attributes(&mut self, in_expression: bool) -> Parse<Vec<Attribute>>;

    /// Parses a type in brackets, or an attribute.
    fn attribute(&mut self) -> Parse<Option<Attribute>>;

    /// Parses the name of a type. Returns it without its arguments.
    fn type_name(&mut self, with_assembly: bool) -> Parse<Option<(String, Span)>>;

    /// Parses the types of a generic type or method, and the bracket that closes them.
    fn type_list(&mut self, first: Token) -> Parse<()>;
}

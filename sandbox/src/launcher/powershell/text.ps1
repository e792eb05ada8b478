# Runs the text of the command in the global scope, and records whether its last statement succeeded. run.ps1 runs this
# file. The text has no file, so its errors show its own lines.
#
# A pipeline sets `$?` only at its very end, so a later part of the same pipeline still sees the value that the last
# statement of the text left.
$AirlockText = & {
    try {
        # Not as a file: a byte order mark would select another encoding.
        $bytes = [System.IO.File]::ReadAllBytes("$PSScriptRoot/command")
        [scriptblock]::Create([System.Text.UTF8Encoding]::new($false).GetString($bytes))
    } catch {
        # The error of the parser, without that of the call. Nothing of the text has run.
        throw $_.Exception.InnerException
    }
}
if ($MyInvocation.ExpectingInput) {
    # Only if the text uses `$input`.
    $input | . $AirlockText | Microsoft.PowerShell.Core\Out-Default |
        . { end { $global:AirlockSucceeded = $? } }
} elseif ($AirlockText.Ast.BeginBlock -or $AirlockText.Ast.ProcessBlock -or
    $AirlockText.Ast.DynamicParamBlock -or $AirlockText.Ast.CleanBlock) {
    # ForEach-Object refuses a text with named blocks.
    . $AirlockText | Microsoft.PowerShell.Core\Out-Default |
        . { end { $global:AirlockSucceeded = $? } }
} else {
    # The output goes where that of this script goes, so a native program keeps the terminal.
    Microsoft.PowerShell.Core\ForEach-Object -Begin $AirlockText -Process { } `
        -End { $global:AirlockSucceeded = $? }
}

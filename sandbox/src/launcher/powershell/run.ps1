# The script that pwsh gets with -File. It runs text.ps1, which runs the text of the command. It passes the session's
# directory on, and sets the exit code.
#
# * Nothing here may catch errors while the text runs. Inside `try` or `trap`, an error that ends one statement would
#   end the whole text.
# * `exit` in the text ends text.ps1, and sets $LASTEXITCODE.
# * An error that ends the text also ends this script, and pwsh reports it and exits with 1.
# * Process 1 shares its working directory with this process, and reports it when the shell has ended.
$ProgressPreference = 'SilentlyContinue'
$AirlockLeave = {
    try {
        $place = $ExecutionContext.SessionState.Path.CurrentFileSystemLocation
        [System.IO.Directory]::SetCurrentDirectory($place.ProviderPath)
    } catch {
        # The directory no longer exists. The process stays where it started.
    }
}
# After an error that ends this script, nothing else can pass the directory on.
$null = $ExecutionContext.Events.SubscribeEvent(
    $null, [NullString]::Value, 'PowerShell.Exiting', $null, $AirlockLeave, $true, $false)
if ([System.IO.File]::Exists("$PSScriptRoot/snapshot.ps1")) {
    . "$PSScriptRoot/snapshot.ps1"
}
. "$PSScriptRoot/text.ps1"
. $AirlockLeave
exit (& {
    Microsoft.PowerShell.Core\Set-StrictMode -Off
    $variables = $ExecutionContext.SessionState.PSVariable
    $code = $variables.GetValue('global:LASTEXITCODE')
    $succeeded = $variables.GetValue('global:AirlockSucceeded')
    # `exit` leaves no success. Without a code, the text was not run.
    if ($null -eq $succeeded) {
        if ($null -eq $code) { return 1 }
        return $code
    }
    if ($succeeded) { return 0 }
    # Only a native program of the last statement has a code of its own. The code of an earlier one is still set.
    $last = $null
    if ($code) {
        foreach ($last in $AirlockText.Ast.EndBlock.Statements) { }
        $isCommand = { param($node) $node -is [System.Management.Automation.Language.CommandAst] }
        $commands = if ($last) { $last.FindAll($isCommand, $false) }
        foreach ($command in $commands) {
            $name = $command.GetCommandName()
            # A program that a variable names.
            if ($null -eq $name) { return $code }
            $found = $ExecutionContext.InvokeCommand.GetCommand($name, 'All')
            while ($found -is [System.Management.Automation.AliasInfo]) { $found = $found.ResolvedCommand }
            if ($found -is [System.Management.Automation.ApplicationInfo]) { return $code }
        }
    }
    return 1
})

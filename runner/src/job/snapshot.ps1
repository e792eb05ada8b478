# Runs the profile's shell.init, and prints the functions and aliases that it defines, with PATH in the first line. The
# output is untrusted data.
$AirlockQuoted = {
    param($text)
    # Each of these characters ends a string.
    "'" + ($text -replace "['\u2018\u2019\u201a\u201b]", '$0$0') + "'"
}
$AirlockBefore = @{}
foreach ($item in Get-ChildItem -Path Function:, Alias:) {
    $AirlockBefore["$($item.CommandType) $($item.Name)"] = $item.Definition
}
. ([scriptblock]::Create([System.IO.File]::ReadAllText('/run/airlock/run/shell_init'))) *> $null
"# PATH=$env:PATH"
'# shell=pwsh'
foreach ($item in Get-ChildItem -Path Function:, Alias:) {
    if ($AirlockBefore["$($item.CommandType) $($item.Name)"] -ceq $item.Definition) { continue }
    $definition = & $AirlockQuoted $item.Definition
    if ($item.CommandType -eq 'Function') {
        $path = & $AirlockQuoted "function:global:$($item.Name)"
        "Set-Item -LiteralPath $path -Value ([scriptblock]::Create($definition))"
    } elseif ($item.CommandType -eq 'Alias') {
        $name = & $AirlockQuoted $item.Name
        "Set-Alias -Name $name -Value $definition -Scope Global -Force"
    }
}
'# complete'

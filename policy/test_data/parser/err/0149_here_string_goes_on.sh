cmd <<<''\x

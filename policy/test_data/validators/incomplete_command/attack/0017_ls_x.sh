
	 ls x
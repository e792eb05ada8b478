ls )
pwd
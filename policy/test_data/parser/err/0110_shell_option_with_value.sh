bash -oc errexit 'touch q'

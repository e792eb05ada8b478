echo ""#
rm x